// gradient: walks the block backwards from the loss, or several roots, and asks each op for its gradient.
//
//   before:  %y = mx.tanh %x ; %l = mx.reduce_mean %y
//   after:   ... %d1 = mx.div_by_count 1 ; %d2 = mx.broadcast %d1 ; %g = mx.mul %d2, (1 - %y * %y)
//
// Only ops on a path from a wanted value to the loss take part: the others' gradients are never built. A value's gradient is complete
// when all its users have been passed, because users come later in the block.
//
// A wanted value that gets none although a root depends on it is an error, not a zero: nobody asks for the gradient of an accuracy on
// purpose. On purpose is stop_gradient; and a gradient may be piecewise constant, so that its own gradient is a true zero.
#include "passes/gradient.h"

#include "ir/mx.h"
#include "ir/ops/elementwise.h"
#include "llvm/ADT/MapVector.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace mxc {
namespace {

bool isFloatTensor(Value value) { return isa<FloatType>(rankedType(value).getElementType()); }

// "of f1_score0 " for an op that the user did not write himself: what he did write, by its name; else empty.
std::string ownerOf(Operation* op) {
  auto place = dyn_cast<NameLoc>(op->getLoc());
  if (!place || place.getName().getValue().contains(op->getName().stripDialect())) return "";
  return "of " + place.getName().str() + " ";
}
std::string nameOf(Operation* op) { return StringRef(op->getName().stripDialect().str() + " " + ownerOf(op)).rtrim().str(); }

// "parameter dense0.weight", "input image", or what computes the value.
std::string nameOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument) return nameOf(value.getDefiningOp());
  auto function = cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  auto text = [&](StringRef attribute) { return function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), attribute).str(); };
  return text("mx.role") + " " + text("mx.name");
}

class Reverse {
 public:
  Reverse(OpBuilder& builder, ArrayRef<GradientRoot> roots, ValueRange wrt, const GradientPurpose& purpose)
      : builder_(builder), roots_(roots), purpose_(purpose), wrt_(wrt.begin(), wrt.end()), active_(wrt.begin(), wrt.end()) {
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
    for (auto [i, wanted] : llvm::enumerate(wrt_)) {
      bool optional = !purpose_.optional.empty() && purpose_.optional[i];
      if (!optional && !of(wanted) && failed(checkIndependent(wanted))) return failure();
    }
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
      givers_.insert(op);
      add(operand, gradient, gradientLocation(op->getLoc()));
    }
    return success();
  }

  void add(Value value, Value gradient, Location location) {
    Value& sum = gradientOf_[value];
    sum = sum ? make<mx::AddOp>(builder_, location, {sum, gradient}) : gradient;
  }

  // ---- The errors: a way from a root to something wanted, through an op without a gradient --------------------------------------
  LogicalResult explain(Operation* op) {
    SmallVector<Operation*> above = wayToRoot(op), below;
    Value wanted = wayDown(op, below);
    std::reverse(above.begin(), above.end());
    return fail(op, "", above, below, wanted);
  }

  // `above`, `below`: the ops between a root and `op`, and those between it and `wanted`; the nearest to the root first.
  LogicalResult fail(Operation* op, StringRef which, ArrayRef<Operation*> above, ArrayRef<Operation*> below, Value wanted) {
    StringRef root = purpose_.root;
    InFlightDiagnostic error = op->emitOpError() << ownerOf(op) << "has no gradient" << which << ", and " << root << " needs one on its way to " << nameOf(wanted);
    if (purpose_.askedAt) error.attachNote(*purpose_.askedAt) << "the gradient is asked for here";
    // Of what stands at one place, what a mean of a loss or an op for others is made of, one is enough.
    SmallVector<Operation*> upper, lower;
    for (auto [i, each] : llvm::enumerate(above))
      if (each->getLoc() != (i + 1 < above.size() ? above[i + 1] : op)->getLoc()) upper.push_back(each);
    for (auto [i, each] : llvm::enumerate(below))
      if (each->getLoc() != (i > 0 ? below[i - 1] : op)->getLoc()) lower.push_back(each);
    noteWay(error, root, upper);
    noteWay(error, op->getName().stripDialect(), lower);
    error.attachNote(wanted.getLoc()) << "and so on " << nameOf(wanted);
    return error;
  }

  // Of a long way, its ends.
  static void noteWay(InFlightDiagnostic& error, StringRef from, ArrayRef<Operation*> way) {
    constexpr size_t kShown = 8;  // of each end
    for (auto [i, op] : llvm::enumerate(way)) {
      size_t left = way.size() - i;
      if (i >= kShown && left > kShown) continue;
      Diagnostic& note = error.attachNote(op->getLoc()) << from << " depends on " << nameOf(op);
      if (i + 1 == kShown && left > kShown + 1) note << ", and so on over " << left - kShown - 1 << " more";
    }
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

  // ---- Values that get no gradient --------------------------------------------------------------------------------------------------
  // A step of a way down from a root: from the result of an op to one of its operands.
  struct Step {
    Value result;
    OpOperand* operand = nullptr;
    Operation* op() const { return operand->getOwner(); }
  };

  // Fails if a root depends on `wanted`, which has no gradient, in a way that is not zero on purpose.
  LogicalResult checkIndependent(Value wanted) {
    SmallVector<Step> way = wayTo(wanted);
    auto* end = llvm::find_if(way, [&](const Step& step) { return endsAt(step); });
    if (end == way.end()) return success();
    SmallVector<Operation*> above, below;
    for (const Step& step : llvm::make_range(way.begin(), end)) above.push_back(step.op());
    for (const Step& step : llvm::make_range(std::next(end), way.end())) below.push_back(step.op());
    return fail(end->op(), whichOperand(*end), above, below, wanted);
  }

  // The shortest way from a root down to `wanted`, through values of all types; empty if there is none that is not zero on purpose.
  SmallVector<Step> wayTo(Value wanted) {
    llvm::MapVector<Value, Step> from;  // how each value was come to
    for (const GradientRoot& root : roots_) from.insert({root.value, Step()});
    for (size_t i = 0; i < from.size() && !from.count(wanted); ++i) {
      Value result = (from.begin() + static_cast<std::ptrdiff_t>(i))->first;
      Operation* op = result.getDefiningOp();
      if (!op || isa<mx::StopGradientOp>(op)) continue;
      for (OpOperand& operand : op->getOpOperands())
        if (Step step{result, &operand}; !isZeroOnPurpose(step)) from.insert({operand.get(), step});
    }
    SmallVector<Step> way;
    if (!from.count(wanted)) return way;
    for (Step step = from.find(wanted)->second; step.operand; step = from.find(step.result)->second) way.push_back(step);
    std::reverse(way.begin(), way.end());
    return way;
  }

  // Whether a gradient is lost here: a number became an integer, or a gradient came and did not go on.
  bool isLost(const Step& step) const {
    if (!isFloatTensor(step.operand->get())) return false;
    return !isFloatTensor(step.result) || (gradientOf_.contains(step.result) && !gradientOf_.contains(step.operand->get()));
  }
  // Whether that is this op's doing. Statistics beside the result, a norm's mean, do not depend on all that the result depends on; and an
  // operand that is made of integers lost its gradient further down.
  bool endsAt(const Step& step) const {
    if (!isLost(step)) return false;
    return !isFloatTensor(step.result) || (gradientOf_.contains(step.op()->getResult(0)) && active_.contains(step.operand->get()));
  }
  // Within a gradient: masks and places of the largest, which are constant between their jumps.
  bool isZeroOnPurpose(const Step& step) const {
    return isGradientLocation(step.op()->getLoc()) && (!isFloatTensor(step.operand->get()) || isLost(step));
  }

  // " for its operand 2" where the op has a gradient for another.
  std::string whichOperand(const Step& step) const {
    bool others = isFloatTensor(step.result) && givers_.contains(step.op());
    return others ? " for its operand " + std::to_string(step.operand->getOperandNumber()) : "";
  }

  OpBuilder& builder_;
  ArrayRef<GradientRoot> roots_;
  const GradientPurpose& purpose_;
  SmallVector<Value> wrt_;
  llvm::DenseSet<Value> active_;  // wanted values and what depends on them, over float tensors
  SmallVector<Operation*> path_;
  llvm::DenseMap<Value, Value> gradientOf_;
  llvm::DenseSet<Operation*> givers_;  // ops that have given an operand a gradient
};

}  // namespace

LogicalResult buildGradients(OpBuilder& builder, ArrayRef<GradientRoot> roots, ValueRange wrt, SmallVectorImpl<Value>& gradients,
                             const GradientPurpose& purpose) {
  Reverse reverse(builder, roots, wrt, purpose);
  if (failed(reverse.run())) return failure();
  for (Value value : wrt) gradients.push_back(reverse.of(value));
  return success();
}

}  // namespace mxc
