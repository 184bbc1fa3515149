// gradient: walks the block backwards from the loss, or several roots, and asks each op for its gradient.
//
//   before:  %y = mx.tanh %x ; %l = mx.reduce_mean %y
//   after:   ... %d1 = mx.div_by_count 1 ; %d2 = mx.broadcast %d1 ; %g = mx.mul %d2, (1 - %y * %y)
//
// Only ops on a path from a wanted value to the loss take part: the others' gradients are never built. A value's gradient is complete
// when all its users have been passed, because users come later in the block.
#include "passes/gradient.h"

#include "ir/mx.h"
#include "ir/ops/elementwise.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace mxc {
namespace {

bool isFloatTensor(Value value) { return isa<FloatType>(rankedType(value).getElementType()); }

// "parameter dense0.weight", "input image", or what computes the value.
std::string nameOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument) return value.getDefiningOp()->getName().stripDialect().str();
  auto function = cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  auto text = [&](StringRef attribute) { return function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), attribute).str(); };
  return text("mx.role") + " " + text("mx.name");
}

class Reverse {
 public:
  Reverse(OpBuilder& builder, ArrayRef<GradientRoot> roots, ValueRange wrt, StringRef what)
      : builder_(builder), roots_(roots), what_(what), wrt_(wrt.begin(), wrt.end()), active_(wrt.begin(), wrt.end()) {
    Value first = roots[0].value;
    for (Operation& op : *first.getParentBlock()) {
      if (!isa<mx::OpRules>(op) || !llvm::any_of(op.getOperands(), [&](Value v) { return active_.contains(v); })) continue;
      path_.push_back(&op);
      for (Value result : op.getResults())
        if (isFloatTensor(result)) active_.insert(result);
    }
  }

  LogicalResult run() {
    for (const GradientRoot& root : roots_) {
      if (!active_.contains(root.value)) continue;
      add(root.value, root.seed ? root.seed : mx::makeFilled(builder_, root.value.getLoc(), 1, rankedType(root.value)), root.value.getLoc());
    }
    for (Operation* op : llvm::reverse(path_))
      if (failed(pass(op))) return failure();
    return success();
  }

  Value of(Value value) const { return gradientOf_.lookup(value); }

 private:
  LogicalResult pass(Operation* op) {
    SmallVector<Value> resultGradients;
    for (Value result : op->getResults()) resultGradients.push_back(gradientOf_.lookup(result));
    if (llvm::none_of(resultGradients, [](Value v) { return v; })) return success();
    SmallVector<bool> wanted;
    for (Value operand : op->getOperands()) wanted.push_back(active_.contains(operand) && isFloatTensor(operand));
    if (!llvm::is_contained(wanted, true)) return success();
    GradientBuilder g(builder_, op, resultGradients, wanted);
    if (failed(cast<mx::OpRules>(op).buildGradient(g))) return explain(op);
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      Value gradient = g.get(i);
      if (!gradient || !wanted[i]) continue;
      add(operand, gradient, gradientLocation(op->getLoc()));
    }
    return success();
  }

  void add(Value value, Value gradient, Location location) {
    Value& sum = gradientOf_[value];
    sum = sum ? make<mx::AddOp>(builder_, location, {sum, gradient}) : gradient;
  }

  // ---- The error: a way from a root to something wanted, through an op without a gradient --------------------------------------
  LogicalResult explain(Operation* op) {
    SmallVector<Operation*> above = wayToRoot(op), below;
    Value wanted = wayDown(op, below);
    auto error = op->emitOpError() << "has no gradient, and " << what_ << " needs one on its way to " << nameOf(wanted);
    for (Operation* each : llvm::reverse(above)) error.attachNote(each->getLoc()) << what_ << " depends on " << nameOf(each->getResult(0));
    for (Operation* each : below) error.attachNote(each->getLoc()) << op->getName().stripDialect() << " depends on " << nameOf(each->getResult(0));
    error.attachNote(wanted.getLoc()) << "and so on " << nameOf(wanted);
    return error;
  }

  // The users that lead from `op` to a root, nearest first.
  SmallVector<Operation*> wayToRoot(Operation* op) const {
    SmallVector<Operation*> way;
    auto user = [&](Operation* of) -> Operation* {
      for (Operation* next : path_)
        if (llvm::any_of(roots_, [&](const GradientRoot& root) { return root.value.getDefiningOp() == next; }) || llvm::any_of(next->getResults(), [&](Value v) { return gradientOf_.contains(v); }))
          if (llvm::any_of(next->getOperands(), [&](Value v) { return v.getDefiningOp() == of; })) return next;
      return nullptr;
    };
    for (Operation* next = user(op); next; next = user(next)) way.push_back(next);
    return way;
  }

  // Follows operands down to one of wrt, which is returned.
  Value wayDown(Operation* op, SmallVectorImpl<Operation*>& way) const {
    while (true) {
      Value next = *llvm::find_if(op->getOperands(), [&](Value v) { return active_.contains(v); });
      if (llvm::is_contained(wrt_, next)) return next;
      op = next.getDefiningOp();
      way.push_back(op);
    }
  }

  OpBuilder& builder_;
  ArrayRef<GradientRoot> roots_;
  StringRef what_;
  SmallVector<Value> wrt_;
  llvm::DenseSet<Value> active_;  // wanted values and what depends on them, over float tensors
  SmallVector<Operation*> path_;
  llvm::DenseMap<Value, Value> gradientOf_;
};

}  // namespace

LogicalResult buildGradients(OpBuilder& builder, ArrayRef<GradientRoot> roots, ValueRange wrt, SmallVectorImpl<Value>& gradients,
                             StringRef what) {
  Reverse reverse(builder, roots, wrt, what);
  if (failed(reverse.run())) return failure();
  for (Value value : wrt) gradients.push_back(reverse.of(value));
  return success();
}

}  // namespace mxc
