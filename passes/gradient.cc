// gradient: walks the block backwards from the loss and asks each op for its gradient.
//
//   before:  %y = mx.tanh %x ; %l = mx.reduce_mean %y
//   after:   ... %d1 = mx.div_by_count 1 ; %d2 = mx.broadcast %d1 ; %g = mx.mul %d2, (1 - %y * %y)
//
// Only ops on a path from a wanted value to the loss take part: the others' gradients are never built. A value's gradient is complete
// when all its users have been passed, because users come later in the block.
#include "passes/gradient.h"

#include "ir/mx.h"
#include "ir/ops/elementwise.h"

using namespace mlir;

namespace mxc {
namespace {

bool isFloatTensor(Value value) { return isa<FloatType>(rankedType(value).getElementType()); }

}  // namespace

LogicalResult buildGradients(OpBuilder& builder, Value loss, ValueRange wrt, SmallVectorImpl<Value>& gradients) {
  // What depends on a wanted value, over float tensors.
  llvm::DenseSet<Value> active(wrt.begin(), wrt.end());
  SmallVector<Operation*> path;
  Block* block = loss.getParentBlock();
  for (Operation& op : *block) {
    if (!isa<mx::OpRules>(op) || !llvm::any_of(op.getOperands(), [&](Value v) { return active.contains(v); })) continue;
    path.push_back(&op);
    for (Value result : op.getResults())
      if (isFloatTensor(result)) active.insert(result);
  }

  llvm::DenseMap<Value, Value> gradientOf;
  if (active.contains(loss)) gradientOf[loss] = mx::makeConstant(builder, loss.getLoc(), 1.0, rankedType(loss).getElementType());
  for (Operation* op : llvm::reverse(path)) {
    SmallVector<Value> resultGradients;
    for (Value result : op->getResults()) resultGradients.push_back(gradientOf.lookup(result));
    if (llvm::none_of(resultGradients, [](Value v) { return v; })) continue;
    SmallVector<bool> wanted;
    for (Value operand : op->getOperands()) wanted.push_back(active.contains(operand) && isFloatTensor(operand));
    GradientBuilder g(builder, op, resultGradients, wanted);
    if (failed(cast<mx::OpRules>(op).buildGradient(g))) return op->emitOpError() << "has no gradient, and the loss depends on it";
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      Value gradient = g.get(i);
      if (!gradient || !wanted[i]) continue;
      Value& sum = gradientOf[operand];
      sum = sum ? make<mx::AddOp>(builder, op->getLoc(), {sum, gradient}) : gradient;
    }
  }
  for (Value value : wrt) gradients.push_back(gradientOf.lookup(value));
  return success();
}

}  // namespace mxc
