// Part of the pass recompute: what operations marked in the model make (the DSL's Recompute) is made again in backward.
//
//   %1 = mx.kernel(%x) { mx.conv2d }             %1 = mx.kernel(%x) { mx.conv2d }
//   %2 = mx.kernel(%1) { mx.relu, marked }       %2 = mx.kernel(%1) { mx.relu, marked }
//   ... backward reads %1 and %2         -->     ... %4 = mx.kernel(%1) { mx.relu } ; backward reads %1 and %4
//
// A kernel is marked if all that it computes is marked with one scope: to repeat an operation that happens to share a loop with a marked
// one is not asked for, and its result takes no more memory than what would be kept instead. A value that kernels marked with another
// scope read is kept; every other value of a marked kernel is made again right before the first kernel of backward that reads it, from
// kept ones. Not a bit changes: kernels are functions of their operands.
#include "ir/recompute_hint.h"
#include "passes/overwrite.h"
#include "passes/training_kernels.h"

using namespace mlir;

namespace mxc::passes {
namespace {

// Whether an operation does no more than to move elements or to fill with one value, as layouts and broadcasts ask for.
bool onlyMoves(Operation& op) {
  auto rules = dyn_cast<mx::ElementwiseRules>(op);
  return rules && (rules.cost() == 0 || op.getNumOperands() == 0);
}

std::optional<int64_t> scopeOf(Operation* kernel) {
  std::optional<int64_t> scope;
  for (Operation& op : cast<mx::KernelOp>(kernel).getBody().front().without_terminator()) {
    if (onlyMoves(op)) continue;
    std::optional<int64_t> own = recomputeScope(op.getLoc());
    if (!own || (scope && scope != own)) return std::nullopt;
    scope = own;
  }
  return scope;
}

class Marked {
 public:
  explicit Marked(func::FuncOp function) : kernels_(function), builder_(function.getContext()) {
    for (Operation* kernel : kernels_.forward)
      if (auto scope = scopeOf(kernel)) scope_[kernel] = *scope;
  }

  void run() {
    if (scope_.empty()) return;
    for (Operation* reader : kernels_.backward)
      for (OpOperand& operand : reader->getOpOperands()) {
        Value root = memoryRoot(operand.get());
        if (!isMadeAgain(root)) continue;
        builder_.setInsertionPoint(reader);
        repeat(root.getDefiningOp());
        operand.set(repeatedView(operand.get(), again_, builder_));
      }
  }

 private:
  bool isMadeAgain(Value root) const {
    auto scope = scope_.find(root.getDefiningOp());
    if (scope == scope_.end()) return false;
    bool kept = false;
    forMemoryReaders(root, [&](Operation* reader) {
      auto other = scope_.find(reader);
      kept |= other != scope_.end() && other->second != scope->second;
    });
    return !kept;
  }

  void repeat(Operation* kernel) {
    if (!repeated_.insert(kernel).second) return;
    for (Value input : kernel->getOperands())
      if (Value root = memoryRoot(input); isMadeAgain(root)) repeat(root.getDefiningOp());
    for (Value input : kernel->getOperands()) (void)repeatedView(input, again_, builder_);
    builder_.clone(*kernel, again_);
  }

  TrainingKernels kernels_;
  OpBuilder builder_;
  llvm::DenseMap<Operation*, int64_t> scope_;  // of the marked kernels of forward
  llvm::SmallPtrSet<Operation*, 16> repeated_;
  IRMapping again_;
};

}  // namespace

void recomputeMarked(func::FuncOp function) { Marked(function).run(); }

}  // namespace mxc::passes
