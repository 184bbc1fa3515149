// See graph_function.h.
#include "passes/graph_function.h"

#include "ir/ops/reduce.h"

using namespace mlir;

namespace mxc::passes {

int64_t upperBound(Value input) {
  int64_t bound = 0;
  for (OpOperand& use : input.getUses()) {
    int64_t own = 0;
    if (auto rules = dyn_cast<mx::IndexRules>(use.getOwner())) own = rules.upperBound(use.getOperandNumber());
    else if (isa<mx::ViewRules>(use.getOwner())) own = upperBound(use.getOwner()->getResult(0));
    if (own > 0) bound = bound == 0 ? own : std::min(bound, own);
  }
  return bound;
}

SmallVector<Value> meansUnder(Value number) {
  auto isMean = [](Value value) {
    auto mean = value.getDefiningOp<mx::ReduceMeanOp>();
    return mean && rankedType(value).getRank() == 0 && batchAxis(rankedType(mean.getInput())) >= 0;
  };
  SmallVector<Value> means, work = {number};
  llvm::DenseSet<Value> seen;
  if (rankedType(number).getRank() != 0 || isMean(number)) return {};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!seen.insert(value).second) continue;
    if (isMean(value)) {
      means.push_back(value);
      continue;
    }
    // What changes from step to step, or joins samples in another way, is a number of one run.
    Operation* op = value.getDefiningOp();
    bool ofOneRun = !isa<mx::OpRules>(op) || isa<mx::ModeRules>(op) ||
                    llvm::any_of(op->getOperands(), [](Value operand) { return batchAxis(rankedType(operand)) >= 0; });
    if (ofOneRun) return {};
    work.append(op->operand_begin(), op->operand_end());
  }
  return means;
}

}  // namespace mxc::passes
