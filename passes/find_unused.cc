// find-unused: what no loss, report or output needs is told to the user and leaves the program.
//
//   before:  %x = mx.input "x" ; %y = mx.dense %x, %w0 ; %z = mx.dense %x, %w1 ; mx.minimize %y
//   after:   %x = mx.input "x" ; %y = mx.dense %x, %w0 ; mx.minimize %y        warning: dense is not used ...
//
// Warnings: an input that is not used; the last operation of an unused piece, with the parameters that go with it; a report or an
// output whose parameters no loss trains; a loss with nothing to train, neither a parameter nor an input whose gradient a main asks for; a
// loss without an input, an input without a batch, which the trainer cannot feed. An error: a loss that is not of a floating type.
// Needs: infer-shapes.
#include "ir/mx.h"
#include "llvm/ADT/SetVector.h"
#include "passes/passes.h"

using namespace mlir;

namespace mxc::passes {
namespace {

using Needed = llvm::SmallSetVector<Operation*, 32>;

// What `roots` are computed from, themselves included.
Needed neededBy(ArrayRef<Operation*> roots) {
  Needed needed(roots.begin(), roots.end());
  for (size_t i = 0; i < needed.size(); ++i)
    for (Value operand : needed[i]->getOperands()) needed.insert(operand.getDefiningOp());
  return needed;
}

// An input that a program with a main optimises.
bool asksForGradient(Operation* op) { return isa<mx::InputOp>(op) && op->hasAttr("mx.gradient"); }

template <typename OpType>
SmallVector<Operation*> all(ModuleOp module) {
  SmallVector<Operation*> ops;
  for (OpType op : module.getOps<OpType>()) ops.push_back(op);
  return ops;
}

// "dense1.weight, dense1.bias": at most four, in the model's order.
std::string listed(ArrayRef<mx::ParameterOp> parameters) {
  std::string text;
  for (mx::ParameterOp parameter : parameters.take_front(4)) text += (text.empty() ? "" : ", ") + parameter.getName().str();
  if (parameters.size() > 4) text += " and " + std::to_string(parameters.size() - 4) + " more";
  return text;
}

class UnusedFinder {
 public:
  // `trainer`: the program has the standard trainer.
  UnusedFinder(ModuleOp module, bool trainer) : module_(module), trainer_(trainer) {}

  LogicalResult run() {
    SmallVector<Operation*> losses = all<mx::MinimizeOp>(module_), shown = all<mx::ReportOp>(module_);
    llvm::append_range(shown, all<mx::OutputOp>(module_));
    for (Operation* loss : losses)
      if (!isa<FloatType>(rankedType(loss->getOperand(0)).getElementType())) return wrongLoss(cast<mx::MinimizeOp>(loss));
    trained_ = neededBy(losses);
    if (!losses.empty() && parameters(trained_).empty() && (trainer_ || llvm::none_of(trained_, asksForGradient)))
      losses.front()->emitWarning() << "the loss depends on no parameter that could be trained";
    if (trainer_ && !losses.empty() && llvm::none_of(trained_, [](Operation* op) { return isa<mx::InputOp>(op); }))
      losses.front()->emitWarning() << "the loss depends on no input: the program's `train` has no data to read";
    SmallVector<Operation*> roots = losses;
    for (Operation* op : shown) {
      if (!losses.empty()) warnUntrained(op);
      roots.push_back(op);
    }
    dropAllBut(neededBy(roots));
    for (auto input : module_.getOps<mx::InputOp>())
      if (trainer_ && batchAxis(rankedType(input.getOutput())) < 0)
        input.emitWarning() << "input '" << input.getName() << "' has no batch axis: the program's `train` and `predict` cannot read samples for it";
    return success();
  }

 private:
  LogicalResult wrongLoss(mx::MinimizeOp op) {
    InFlightDiagnostic error = op.emitOpError() << "expects a floating-point loss, got " << rankedType(op.getLoss()).getElementType();
    error.attachNote(op.getLoss().getLoc()) << "the loss comes from here";
    return error;
  }

  // The parameters in `ops` that the user wants to be trained, but those in `but`.
  SmallVector<mx::ParameterOp> parameters(const Needed& ops, const Needed& but = {}) {
    SmallVector<mx::ParameterOp> list;
    for (auto parameter : module_.getOps<mx::ParameterOp>())
      if (parameter.getTrainable() && ops.contains(parameter) && !but.contains(parameter)) list.push_back(parameter);
    return list;
  }

  void warnUntrained(Operation* shown) {
    SmallVector<mx::ParameterOp> untrained = parameters(neededBy(shown), trained_);
    if (untrained.empty()) return;
    StringRef kind = shown->getName().stripDialect();
    InFlightDiagnostic warning = shown->emitWarning()
                                 << kind << " '" << shown->getAttrOfType<StringAttr>("name").getValue()
                                 << "' depends on parameters that no loss trains: " << listed(untrained);
    warning.attachNote(untrained.front().getLoc()) << untrained.front().getName() << " is made here";
  }

  void dropAllBut(const Needed& needed) {
    SmallVector<Operation*> unused;
    for (Operation& op : module_.getBody()->getOperations())
      if (!needed.contains(&op) && isa<mx::OpRules, mx::InputOp, mx::ParameterOp>(op)) unused.push_back(&op);
    for (Operation* op : unused) {
      if (auto input = dyn_cast<mx::InputOp>(op)) {
        if (input->use_empty()) input.emitWarning() << "input '" << input.getName() << "' is not used";
      } else if (op->use_empty()) {
        warnUnused(op, needed);
      }
    }
    for (Operation* op : llvm::reverse(unused)) op->erase();
  }

  // `last` has no users.
  void warnUnused(Operation* last, const Needed& needed) {
    InFlightDiagnostic warning = last->emitWarning();
    if (auto parameter = dyn_cast<mx::ParameterOp>(last)) {
      warning << "parameter " << parameter.getName() << " is not used and left out";
      return;
    }
    warning << "the result of this " << last->getName().stripDialect() << " is not used: it is left out";
    SmallVector<mx::ParameterOp> gone = parameters(neededBy(last), needed);
    if (!gone.empty()) warning << ", and so are its parameters " << listed(gone);
  }

  ModuleOp module_;
  const bool trainer_;
  Needed trained_;
};

}  // namespace

LogicalResult findUnused(ModuleOp module, const PipelineOptions& options) { return UnusedFinder(module, !options.ownMain && !options.library).run(); }

}  // namespace mxc::passes
