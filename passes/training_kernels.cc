// See training_kernels.h.
#include "passes/training_kernels.h"

#include "passes/forward_part.h"
#include "passes/overwrite.h"

using namespace mlir;

namespace mxc::passes {
namespace {

// The kernels that the function's results of a role are computed from.
llvm::SmallPtrSet<Operation*, 16> ancestors(func::FuncOp function, StringRef role) {
  llvm::SmallPtrSet<Operation*, 16> found;
  SmallVector<Value> work;
  for (auto [i, value] : llvm::enumerate(function.getBody().front().getTerminator()->getOperands()))
    if (auto given = function.getResultAttrOfType<StringAttr>(i, "mx.role"); given && given.getValue() == role) work.push_back(value);
  while (!work.empty()) {
    auto kernel = memoryRoot(work.pop_back_val()).getDefiningOp<mx::KernelOp>();
    if (kernel && found.insert(kernel).second) llvm::append_range(work, kernel.getInputs());
  }
  return found;
}

}  // namespace

TrainingKernels::TrainingKernels(func::FuncOp function) {
  const bool parts = hasBackward(function);
  inForward_ = parts ? forwardPart(function) : ancestors(function, "loss");
  inBackward_ = ancestors(function, parts ? "gradient" : "parameter");
  for (Operation* kernel : inForward_) inBackward_.erase(kernel);
  for (auto kernel : function.getBody().front().getOps<mx::KernelOp>()) {
    if (isForward(kernel)) forward.push_back(kernel);
    if (isBackward(kernel)) backward.push_back(kernel);
  }
}

void forMemoryReaders(Value root, llvm::function_ref<void(Operation*)> visit) {
  for (Operation* user : root.getUsers()) {
    if (isa<mx::ViewRules>(user)) forMemoryReaders(user->getResult(0), visit);
    else visit(user);
  }
}

Value repeatedView(Value value, IRMapping& map, OpBuilder& builder) {
  if (map.contains(value)) return map.lookup(value);
  Operation* def = value.getDefiningOp();
  if (!def || !isa<mx::ViewRules>(def)) return value;
  Value source = repeatedView(def->getOperand(0), map, builder);
  if (source == def->getOperand(0)) return value;
  return builder.clone(*def, map)->getResult(0);
}

}  // namespace mxc::passes
