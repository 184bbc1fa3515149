// See training_kernels.h.
#include "passes/training_kernels.h"

#include "passes/forward_part.h"

using namespace mlir;

namespace mxc::passes {

TrainingKernels::TrainingKernels(func::FuncOp function) {
  const bool parts = hasBackward(function);
  auto resultsOf = [&](StringRef role) { return computedFrom(function, [&](unsigned i) { return hasRole(function, i, role); }); };
  inForward_ = parts ? forwardPart(function) : resultsOf("loss");
  inBackward_ = resultsOf(parts ? "gradient" : "parameter");
  for (Operation* op : inForward_) inBackward_.erase(op);
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
