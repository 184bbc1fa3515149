// The parts family.
#pragma once
#include "ir/mx.h"
#define GET_OP_CLASSES
#include "ir/ops/parts.h.inc"

namespace mxc::mx {

// An attribute of several integers: axes, begins, ends.
inline mlir::NamedAttribute numbers(mlir::OpBuilder& b, llvm::StringRef name, llvm::ArrayRef<int64_t> values) {
  return b.getNamedAttr(name, b.getDenseI64ArrayAttr(values));
}

}  // namespace mxc::mx
