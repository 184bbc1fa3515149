// See forward_part.h.
#include "passes/forward_part.h"

using namespace mlir;

namespace mxc::passes {

bool hasRole(func::FuncOp function, unsigned i, StringRef role) {
  auto given = function.getResultAttrOfType<StringAttr>(i, "mx.role");
  return given && given.getValue() == role;
}

bool isGradientResult(func::FuncOp function, unsigned i) { return hasRole(function, i, "gradient"); }

bool hasBackward(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (isGradientResult(function, i)) return true;
  return false;
}

llvm::SmallPtrSet<Operation*, 16> computedFrom(func::FuncOp function, llvm::function_ref<bool(unsigned)> wanted) {
  llvm::SmallPtrSet<Operation*, 16> found;
  SmallVector<Operation*> work;
  auto add = [&](Value value) {
    Operation* op = value.getDefiningOp();
    if (op && found.insert(op).second) work.push_back(op);
  };
  for (OpOperand& result : function.getBody().front().getTerminator()->getOpOperands())
    if (wanted(result.getOperandNumber())) add(result.get());
  while (!work.empty())
    for (Value operand : work.pop_back_val()->getOperands()) add(operand);
  return found;
}

llvm::SmallPtrSet<Operation*, 16> forwardPart(func::FuncOp function) {
  return computedFrom(function, [&](unsigned i) { return !isGradientResult(function, i); });
}

}  // namespace mxc::passes
