// See dtypes.h.
#include "codegen/dtypes.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace mxc::codegen {
namespace {

constexpr const char* kNames[] = {"f32", "f64", "f16", "bf16", "i8", "u8", "i32", "i64", "boolean"};
static_assert(std::size(kNames) == kDTypes);

}  // namespace

Type elementOf(MLIRContext* context, plan::DType dtype) {
  Builder b(context);
  switch (dtype) {
    case plan::DType::f32: return b.getF32Type();
    case plan::DType::f64: return b.getF64Type();
    case plan::DType::f16: return b.getF16Type();
    case plan::DType::bf16: return b.getBF16Type();
    case plan::DType::i8: return b.getIntegerType(8);
    case plan::DType::u8: return b.getIntegerType(8, /*isSigned=*/false);
    case plan::DType::i32: return b.getI32Type();
    case plan::DType::i64: return b.getI64Type();
    case plan::DType::boolean: return b.getI1Type();
  }
  return {};
}

plan::DType dtypeOf(Type element) {
  for (int d = 0; d < kDTypes; ++d)
    if (elementOf(element.getContext(), static_cast<plan::DType>(d)) == element) return static_cast<plan::DType>(d);
  return plan::DType::f32;
}

const char* dtypeName(plan::DType dtype) { return kNames[static_cast<int>(dtype)]; }

}  // namespace mxc::codegen
