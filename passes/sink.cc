// sink: elementwise work goes behind operations that choose or move elements.
//
//   %0 = mx.relu %x                    %0, %i = mx.max_pool %x
//   %1, %i = mx.max_pool %0     -->    %1 = mx.relu %0
//
//   %0 = mx.relu %x                    %0 = mx.concat %x, %y
//   %1 = mx.relu %y             -->    %1 = mx.relu %0
//   %2 = mx.concat %0, %1
//
// Why: what an elementwise operation reads or makes stays in memory for its gradient. Behind a pool that is a fraction; behind a
// concat it is the result of the concat, which stays anyhow for those who read it. There is less to compute, too.
//
// Legal where every bit of results and gradients stays as it was: all operands are made by one kind of operation, with equal
// attributes and of one operand, that nobody else reads; the chooser moves its elements, or takes the largest and the operation keeps
// it (Origin, keepsLargest). Runs before gradients exist. Needs: infer-shapes.
#include "ir/mx.h"
#include "passes/passes.h"

using namespace mlir;

namespace mxc::passes {
namespace {

// Whether `op` makes each element of its only result from one element of its only operand, of the same type, and has one reader.
bool maySink(Operation* op, Origin origin) {
  auto rules = dyn_cast_or_null<mx::ElementwiseRules>(op);
  if (!rules || op->getNumOperands() != 1 || op->getNumResults() != 1 || !op->getResult(0).hasOneUse()) return false;
  if (op->getOperand(0).getType() != op->getResult(0).getType()) return false;
  return origin == Origin::moved || rules.keepsLargest();
}

// Moves the operations that make `op`'s operands behind it. False if that is not legal.
bool sinkThrough(Operation* op) {
  Origin origin = cast<mx::OpRules>(op).origin();
  if (origin == Origin::computed || op->getNumOperands() == 0) return false;
  Operation* first = op->getOperand(0).getDefiningOp();
  for (Value operand : op->getOperands()) {
    Operation* def = operand.getDefiningOp();
    if (!def || !maySink(def, origin) || def->getName() != first->getName() || def->getAttrs() != first->getAttrs()) return false;
  }
  SmallVector<Operation*> sunk;
  for (OpOperand& operand : op->getOpOperands()) {
    sunk.push_back(operand.get().getDefiningOp());
    operand.set(sunk.back()->getOperand(0));
  }
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  Value chosen = op->getResult(0);
  OperationState state(first->getLoc(), first->getName(), chosen, chosen.getType(), first->getAttrs());
  Operation* behind = builder.create(state);
  chosen.replaceAllUsesExcept(behind->getResult(0), behind);
  for (Operation* old : sunk) old->erase();
  return true;
}

}  // namespace

LogicalResult sink(ModuleOp module, const PipelineOptions&) {
  // In program order: what sank once is met again by the choosers behind.
  for (Operation& op : module.getBody()->getOperations()) {
    if (!isa<mx::OpRules>(op)) continue;
    while (sinkThrough(&op)) {
    }
  }
  return success();
}

}  // namespace mxc::passes
