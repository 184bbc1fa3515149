// One record of 32 bytes a kernel, in the order of runtime/ndarray/kernels.h: run, identity, tile, result, state, lanes, reserved.
#include "codegen/imperative/kernel_table.h"

#include <map>

#include "codegen/cpu/kernel_builder.h"
#include "codegen/imperative/kernel_list.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"

using namespace mlir;

namespace mxc::codegen {
namespace {

constexpr int kScalarMasks = 8;

struct Record {
  std::string symbol;  // empty: no kernel
  uint64_t identity = 0;
  int32_t tile = 0;
  plan::DType result = plan::DType::f32, state = plan::DType::f32;
  uint8_t lanes = 0;
};

struct Family {
  int64_t operands = 0;
  Record records[kDTypes][kScalarMasks];
};

uint64_t bitsOf(TypedAttr number) {
  if (auto real = dyn_cast<FloatAttr>(number)) return real.getValue().bitcastToAPInt().getZExtValue();
  return cast<IntegerAttr>(number).getValue().getZExtValue();
}

// Writes the kernel's function; a record without a symbol if it is a reduction that cannot be carried.
FailureOr<Record> build(ModuleOp kernels, const ListedKernel& listed) {
  std::string symbol = listed.family + "." + dtypeName(listed.dtype) + "." + std::to_string(listed.scalars);
  int64_t lanes = lanesOf(listed.kernel);
  CpuKernelBuilder builder(kernels, listed.kernel, symbol, lanes);
  if (listed.carried >= 0) builder.carryReduction(listed.carried);
  FailureOr<std::vector<KernelInfo>> infos = builder.run();
  if (failed(infos)) return failure();
  if (infos->size() != 1) return emitError(kernels.getLoc()) << "internal: " << symbol << " is not one kernel";
  const KernelInfo& info = infos->front();
  Record record;
  record.tile = info.gridBatchUnit ? static_cast<int32_t>(info.gridBatchTile) : 0;
  mx::KernelOp kernel = listed.kernel;
  record.result = dtypeOf(elementType(kernel.getResult(0).getType()));
  if (listed.carried >= 0) {
    if (!info.identity) return kernels.lookupSymbol(symbol)->erase(), record;
    record.identity = bitsOf(info.identity);
    record.state = dtypeOf(info.identity.getType());
    record.lanes = static_cast<uint8_t>(lanes);
  }
  record.symbol = symbol;
  return record;
}

class TableWriter {
 public:
  explicit TableWriter(llvm::Module& module) : module_(module), context_(module.getContext()) {}

  void write(const std::map<std::string, Family>& families, const std::string& level) {
    std::vector<llvm::Constant*> all;
    for (const auto& [name, family] : families) all.push_back(constantOf(name, family));
    global(llvm::ConstantArray::get(llvm::ArrayType::get(all[0]->getType(), all.size()), all), "mxc_ndarray_kernels_" + level);
    global(i64(all.size()), "mxc_ndarray_families_" + level);
  }

 private:
  llvm::Constant* i64(uint64_t value) { return llvm::ConstantInt::get(llvm::Type::getInt64Ty(context_), value); }
  llvm::Constant* i32(uint32_t value) { return llvm::ConstantInt::get(llvm::Type::getInt32Ty(context_), value); }
  llvm::Constant* i8(uint8_t value) { return llvm::ConstantInt::get(llvm::Type::getInt8Ty(context_), value); }

  void global(llvm::Constant* value, const std::string& name) {
    auto* variable = new llvm::GlobalVariable(module_, value->getType(), true, llvm::GlobalValue::ExternalLinkage, value, name);
    variable->setAlignment(llvm::Align(64));
  }

  llvm::Constant* constantOf(const Record& r) {
    llvm::Constant* run = llvm::ConstantPointerNull::get(llvm::PointerType::get(context_, 0));
    if (!r.symbol.empty()) {
      llvm::Function* function = module_.getFunction(r.symbol);
      function->setLinkage(llvm::GlobalValue::InternalLinkage);
      run = function;
    }
    auto* reserved = llvm::ConstantAggregateZero::get(llvm::ArrayType::get(llvm::Type::getInt8Ty(context_), 9));
    return llvm::ConstantStruct::getAnon({run, i64(r.identity), i32(r.tile), i8(static_cast<uint8_t>(r.result)),
                                          i8(static_cast<uint8_t>(r.state)), i8(r.lanes), reserved});
  }

  llvm::Constant* constantOf(const std::string& name, const Family& family) {
    auto* text = llvm::ConstantDataArray::getString(context_, name);
    auto* string = new llvm::GlobalVariable(module_, text->getType(), true, llvm::GlobalValue::PrivateLinkage, text, "name");
    std::vector<llvm::Constant*> rows;
    for (const auto& dtype : family.records) {
      std::vector<llvm::Constant*> row;
      for (const Record& record : dtype) row.push_back(constantOf(record));
      rows.push_back(llvm::ConstantArray::get(llvm::ArrayType::get(row[0]->getType(), row.size()), row));
    }
    auto* records = llvm::ConstantArray::get(llvm::ArrayType::get(rows[0]->getType(), rows.size()), rows);
    return llvm::ConstantStruct::getAnon({string, i64(family.operands), records});
  }

  llvm::Module& module_;
  llvm::LLVMContext& context_;
};

}  // namespace

FailureOr<std::unique_ptr<llvm::Module>> buildKernelTable(MLIRContext& context, llvm::LLVMContext& llvmContext, llvm::TargetMachine& target,
                                                         const std::string& level) {
  Location loc = UnknownLoc::get(&context);
  OwningOpRef<ModuleOp> scratch = ModuleOp::create(loc), kernels = ModuleOp::create(loc);
  std::map<std::string, Family> families;
  for (const ListedKernel& listed : listKernels(*scratch)) {
    FailureOr<Record> record = build(*kernels, listed);
    if (failed(record)) return failure();
    if (record->symbol.empty()) continue;
    Family& family = families[listed.family];
    family.operands = listed.operands;
    family.records[static_cast<int>(listed.dtype)][listed.scalars] = *record;
  }
  FailureOr<std::unique_ptr<llvm::Module>> module = lowerToLLVM(*kernels, llvmContext, target);
  if (failed(module)) return failure();
  TableWriter(**module).write(families, level);
  return module;
}

}  // namespace mxc::codegen
