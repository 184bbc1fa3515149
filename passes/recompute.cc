// recompute: values that backward reads are made again there instead of being kept: those that the model marks (recompute_marked.cc), and
// then as many as it takes if the program would not fit its limit otherwise.
//
//   %1 = mx.kernel(%x) ...                       %1 = mx.kernel(%x) ...
//   %2 = mx.kernel(%1) ...                       %2 = mx.kernel(%1) ...
//   %3 = mx.kernel(%2) ...              -->      %3 = mx.kernel(%2) ...
//   ... backward reads %1 and %2                 %4 = mx.kernel(%x) ... ; %5 = mx.kernel(%4) ... ; backward reads %4 and %5
//
// Forward is cut into segments (Chen et al. 2016, arXiv 1604.06174). What a later segment reads is kept; the rest of a segment is made
// again just before backward comes to it, the last segment excepted. A chain of n kernels in sqrt(n) segments keeps about 2 sqrt(n)
// values at the cost of one more forward at most. Cuts go where few bytes cross. Several numbers of segments are tried, each with its
// memory plan, and of those that fit the one with the least work is taken. Kernels are functions of their operands (dropout's mask too),
// so not a bit of the results changes. Needs: the kernels stand in the order in which they run.
#include "ir/bound_memory.h"
#include "ir/mx.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/overwrite.h"
#include "passes/passes.h"
#include "passes/plan_memory.h"
#include "passes/training_kernels.h"

using namespace mlir;

namespace mxc::passes {
namespace {

class Segments {
 public:
  explicit Segments(func::FuncOp function) : kernels_(function), forward_(kernels_.forward), backward_(kernels_.backward) {
    for (auto [i, kernel] : llvm::enumerate(forward_)) index_[kernel] = i;
    measure();
  }
  Segments(const Segments&) = delete;

  // Bytes that forward makes for backward.
  int64_t savedBytes() const { return savedTotal_; }
  size_t kernels() const { return forward_.size(); }

  // Cuts into segments of about `budget` saved bytes: the index of the last kernel of each segment but the last.
  SmallVector<size_t> cuts(int64_t budget) const {
    SmallVector<size_t> result;
    int64_t sum = 0;
    std::optional<size_t> best;
    for (size_t i = 0; i + 1 < forward_.size(); ++i) {
      sum += saved_[i];
      if (2 * sum >= budget && (!best || crossing_[i] <= crossing_[*best])) best = i;
      if (sum < budget) continue;
      result.push_back(i = *best);
      sum = 0;
      best.reset();
    }
    return result;
  }

  // Makes again what `cuts` says. Returns the bytes that the repeated kernels write: a measure of the work.
  int64_t apply(ArrayRef<size_t> cuts) {
    int64_t work = 0;
    for (size_t s = cuts.size(); s-- > 0;) work += repeat(s == 0 ? 0 : cuts[s - 1] + 1, cuts[s]);
    return work;
  }

 private:
  // The last forward kernel that reads a value.
  size_t lastForwardReader(Value root) const {
    size_t last = 0;
    forMemoryReaders(root, [&](Operation* reader) {
      if (auto it = index_.find(reader); it != index_.end()) last = std::max(last, it->second);
    });
    return last;
  }
  bool isSaved(Value root) const {
    bool saved = false;
    forMemoryReaders(root, [&](Operation* reader) { saved |= kernels_.isBackward(reader); });
    return saved;
  }

  void measure() {
    saved_.assign(forward_.size(), 0);
    crossing_.assign(forward_.size(), 0);
    for (auto [i, kernel] : llvm::enumerate(forward_))
      for (Value result : kernel->getResults()) {
        int64_t bytes = bytesOf(rankedType(result));
        if (isSaved(result)) saved_[i] += bytes;
        for (size_t k = i; k < lastForwardReader(result); ++k) crossing_[k] += bytes;
      }
    for (int64_t bytes : saved_) savedTotal_ += bytes;
  }

  // Whether the value is made within the segment that ends with kernel `last`, and no later segment reads it.
  bool isInner(Value root, size_t first, size_t last) const {
    Operation* def = root.getDefiningOp();
    auto it = def ? index_.find(def) : index_.end();
    return it != index_.end() && it->second >= first && it->second <= last && lastForwardReader(root) <= last;
  }

  int64_t repeat(size_t first, size_t last) {
    llvm::DenseSet<Operation*> again;
    Operation* place = nullptr;  // the first that reads something that is made again
    SmallVector<OpOperand*> reads;
    for (Operation* kernel : backward_)
      for (OpOperand& operand : kernel->getOpOperands())
        if (isInner(memoryRoot(operand.get()), first, last)) {
          collect(memoryRoot(operand.get()).getDefiningOp(), first, last, again);
          reads.push_back(&operand);
          if (!place || kernel->isBeforeInBlock(place)) place = kernel;
        }
    if (reads.empty()) return 0;
    OpBuilder builder(place);
    IRMapping map;
    int64_t work = 0;
    for (size_t i = first; i <= last; ++i) {
      if (!again.contains(forward_[i])) continue;
      for (Value input : forward_[i]->getOperands()) (void)repeatedView(input, map, builder);
      builder.clone(*forward_[i], map);
      for (Value result : forward_[i]->getResults()) work += bytesOf(rankedType(result));
    }
    for (OpOperand* operand : reads) operand->set(repeatedView(operand->get(), map, builder));
    return work;
  }

  void collect(Operation* kernel, size_t first, size_t last, llvm::DenseSet<Operation*>& again) const {
    if (!again.insert(kernel).second) return;
    for (Value input : kernel->getOperands())
      if (Value root = memoryRoot(input); isInner(root, first, last)) collect(root.getDefiningOp(), first, last, again);
  }

  TrainingKernels kernels_;
  const SmallVector<Operation*>&forward_, &backward_;
  llvm::DenseMap<Operation*, size_t> index_;  // in forward_
  SmallVector<int64_t> saved_, crossing_;     // of each forward kernel; bytes read by later ones after it
  int64_t savedTotal_ = 0;
};

// Rewrites `function` so that its arena has at most `limit` bytes, with as little work as the tried cuts allow; else so that the arena
// is the smallest found. Returns the arena's bytes.
int64_t fit(func::FuncOp function, int64_t limit, const PipelineOptions& options) {
  const int64_t without = plannedArenaBytes(function, options.memoryPlan);
  if (without <= limit) return without;
  Segments segments(function);
  int64_t bestBytes = without, bestWork = 0, bestBudget = 0;
  for (size_t parts = 2; parts <= segments.kernels(); parts = parts < 8 ? parts + 1 : parts * 5 / 4) {
    const int64_t budget = segments.savedBytes() / static_cast<int64_t>(parts);
    OwningOpRef<func::FuncOp> trial = cast<func::FuncOp>(function->clone());
    Segments copy(*trial);
    const int64_t work = copy.apply(copy.cuts(budget)), bytes = plannedArenaBytes(*trial, options.memoryPlan);
    const bool fits = bytes <= limit, better = bestBytes <= limit ? fits && work < bestWork : bytes < bestBytes;
    if (better) bestBytes = bytes, bestWork = work, bestBudget = budget;
  }
  if (bestBudget > 0) segments.apply(segments.cuts(bestBudget));
  return bestBytes;
}

}  // namespace

LogicalResult recompute(ModuleOp module, const PipelineOptions& options) {
  for (auto function : module.getOps<func::FuncOp>()) recomputeMarked(function);
  if (options.memoryLimit == 0) return success();
  const int64_t resident = bytesBesideArena(module, kArenaAlignment);
  for (auto function : module.getOps<func::FuncOp>()) {
    int64_t arena = fit(function, options.memoryLimit - resident, options);
    if (arena + resident <= options.memoryLimit || function->hasAttr("mx.by_shards")) continue;
    return module.emitError() << "the memory limit of " << options.memoryLimit << " bytes is " << arena + resident - options.memoryLimit
                              << " bytes too small: " << function.getSymName() << " needs an arena of " << arena
                              << " with all that recomputing saves, parameters, states, inputs and outputs need " << resident;
  }
  return success();
}

}  // namespace mxc::passes
