// schedule: the order in which kernels run, chosen so that little memory is alive at once.
//
//   %1 = mx.kernel(%w, %g) { new value of %w }          %2 = mx.kernel(%w, %dy) ...
//   %2 = mx.kernel(%w, %dy) ...                  -->     %1 = mx.kernel(%w, %g) { new value of %w }
//
// Holds afterwards: a kernel that makes the new value of an argument comes after all others that read the old one (unless that is
// impossible: then the memory plan copies), and otherwise as soon as it can. Views stand before their first reader. In a function with
// gradients among its results, kernels that only those need come after all others.
//
// Two orders are tried, and the one with the lower peak is taken; at a tie the first:
//   - the order of the program;
//   - greedily, the kernel that frees most of what is alive (less what it allocates). Kernels that read arguments only could always
//     run: they wait until a reader of theirs is chosen, and count as part of it.
#include "ir/mx.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/forward_part.h"
#include "passes/offsets.h"
#include "passes/overwrite.h"
#include "passes/passes.h"

using namespace mlir;

namespace mxc::passes {
namespace {

using Order = SmallVector<int>;

class Scheduler {
 public:
  explicit Scheduler(func::FuncOp function) : function_(function), block_(function.getBody().front()) {
    for (auto kernel : block_.getOps<mx::KernelOp>()) {
      number_[kernel] = kernels_.size();
      kernels_.push_back(kernel);
    }
    backward_.resize(kernels_.size(), false);
    if (hasBackward(function)) {
      llvm::SmallPtrSet<Operation*, 16> forward = forwardPart(function);
      for (size_t k = 0; k < kernels_.size(); ++k) backward_[k] = !forward.contains(kernels_[k]);
    }
    forwardKernels_ = llvm::count(backward_, false);
    before_.resize(kernels_.size());
    after_.resize(kernels_.size());
    inputs_.resize(kernels_.size());
    updates_.resize(kernels_.size(), false);
    for (size_t k = 0; k < kernels_.size(); ++k) readInputs(k);
    for (OpOperand& operand : block_.getTerminator()->getOpOperands()) readResult(operand);
  }

  void run() {
    Order program = programOrder(), greedy = greedyOrder();
    apply(peak(greedy) < peak(program) ? greedy : program);
  }

 private:
  // ---- The graph --------------------------------------------------------------------------------------------------------------
  void readInputs(int k) {
    for (Value input : kernels_[k].getInputs()) {
      Value root = memoryRoot(input);
      inputs_[k].insert(root);
      if (Operation* def = root.getDefiningOp()) link(number_[def], k);
    }
    for (Value root : inputs_[k]) readers_[root].push_back(k);
  }

  void link(int first, int second) {
    before_[second].insert(first);
    after_[first].insert(second);
  }

  // Results of the function lie outside the arena; new values of arguments come after the old one's readers.
  void readResult(OpOperand& operand) {
    Value root = memoryRoot(operand.get());
    auto update = root.getDefiningOp<mx::KernelOp>();
    if (!update) return;
    outside_.insert(root);
    auto donates = function_.getResultAttrOfType<IntegerAttr>(operand.getOperandNumber(), "mx.donates");
    if (!donates) return;
    updates_[number_[update]] = true;
    for (int reader : readers_[function_.getArgument(donates.getInt())])
      if (reader != number_[update] && backward_[reader] <= backward_[number_[update]] && !reaches(number_[update], reader))
        link(reader, number_[update]);
  }

  bool reaches(int from, int to) {
    SmallVector<int> stack = {from};
    llvm::DenseSet<int> seen;
    while (!stack.empty()) {
      int k = stack.pop_back_val();
      if (k == to) return true;
      for (int next : after_[k])
        if (seen.insert(next).second) stack.push_back(next);
    }
    return false;
  }

  int64_t arenaBytes(Value root) const {
    return isa<BlockArgument>(root) || outside_.contains(root) ? 0 : bytesOf(rankedType(root));
  }

  // Whether it is too early for `k` when `done` kernels have been chosen.
  bool isEarly(int k, size_t done) const { return backward_[k] && done < forwardKernels_; }

  // ---- Orders -----------------------------------------------------------------------------------------------------------------
  // Updates as soon as they can, others as in the program.
  Order programOrder() {
    Order order;
    SmallVector<size_t> missing;
    for (auto& before : before_) missing.push_back(before.size());
    llvm::SmallVector<bool> done(kernels_.size(), false);
    while (order.size() < kernels_.size()) {
      int next = -1;
      for (int k = 0; k < static_cast<int>(kernels_.size()); ++k) {
        if (done[k] || missing[k] > 0 || isEarly(k, order.size())) continue;
        if (next < 0) next = k;
        if (!updates_[k]) continue;
        next = k;
        break;
      }
      done[next] = true;
      order.push_back(next);
      for (int user : after_[next]) --missing[user];
    }
    return order;
  }

  bool readsArgumentsOnly(int k) const { return before_[k].empty(); }
  // A kernel that waits until a reader of its part is chosen.
  bool waits(int k) const {
    return readsArgumentsOnly(k) && llvm::any_of(after_[k], [&](int reader) { return backward_[reader] == backward_[k]; });
  }

  struct State {
    SmallVector<bool> done;
    llvm::DenseMap<Value, int> unread;  // readers of each root that have not run
    Order order;
  };

  Order greedyOrder() {
    State state;
    state.done.assign(kernels_.size(), false);
    for (auto& [root, readers] : readers_) state.unread[root] = readers.size();
    while (state.order.size() < kernels_.size()) {
      int best = -1;
      int64_t bestGain = 0;
      for (int k = 0; k < static_cast<int>(kernels_.size()); ++k) {
        if (state.done[k] || waits(k) || isEarly(k, state.order.size()) || !isReady(k, state)) continue;
        int64_t gained = gain(k, state);
        if (best < 0 || gained > bestGain) best = k, bestGain = gained;
      }
      for (int waiting : before_[best])
        if (!state.done[waiting]) perform(waiting, state);
      perform(best, state);
    }
    return state.order;
  }

  // Whether `k` can run, after kernels that wait for it.
  bool isReady(int k, const State& state) const {
    return llvm::all_of(before_[k], [&](int b) { return state.done[b] || readsArgumentsOnly(b); });
  }

  // Bytes alive that `k` frees less those that it allocates.
  int64_t gain(int k, const State& state) {
    int64_t gained = 0;
    for (Value root : inputs_[k])
      if (state.unread.lookup(root) == 1) gained += arenaBytes(root);
    for (Value result : kernels_[k].getResults()) gained -= arenaBytes(result);
    for (int waiting : before_[k])
      if (!state.done[waiting])
        for (Value result : kernels_[waiting].getResults()) gained -= arenaBytes(result);
    return gained;
  }

  void perform(int k, State& state) {
    state.done[k] = true;
    state.order.push_back(k);
    for (Value root : inputs_[k]) --state.unread[root];
  }

  // The largest sum of bytes alive at once, nothing being in place.
  int64_t peak(const Order& order) {
    SmallVector<int64_t> time(kernels_.size());
    for (size_t t = 0; t < order.size(); ++t) time[order[t]] = t;
    std::vector<Lifetime> lifetimes;
    for (size_t k = 0; k < kernels_.size(); ++k) {
      for (Value result : kernels_[k].getResults()) {
        Lifetime life{time[k], time[k], arenaBytes(result)};
        for (int reader : readers_.lookup(result)) life.end = std::max(life.end, time[reader]);
        lifetimes.push_back(life);
      }
    }
    return peakLive(lifetimes);
  }

  // ---- Moving -----------------------------------------------------------------------------------------------------------------
  void apply(const Order& order) {
    llvm::DenseSet<Operation*> moved;
    for (auto [position, k] : llvm::enumerate(order)) {
      if (position == forwardKernels_) moveResults(false, moved);
      for (Value input : kernels_[k].getInputs()) moveViews(input, moved);
      kernels_[k]->moveBefore(block_.getTerminator());
    }
    moveResults(false, moved);
    moveResults(true, moved);
  }

  // The views among the results, gradients or others.
  void moveResults(bool gradients, llvm::DenseSet<Operation*>& moved) {
    for (OpOperand& result : block_.getTerminator()->getOpOperands())
      if (isGradientResult(function_, result.getOperandNumber()) == gradients) moveViews(result.get(), moved);
  }

  void moveViews(Value value, llvm::DenseSet<Operation*>& moved) {
    Operation* def = value.getDefiningOp();
    if (!def || !isa<mx::ViewRules>(def) || !moved.insert(def).second) return;
    moveViews(def->getOperand(0), moved);
    def->moveBefore(block_.getTerminator());
  }

  func::FuncOp function_;
  Block& block_;
  SmallVector<mx::KernelOp> kernels_;  // in program order
  llvm::DenseMap<Operation*, int> number_;
  SmallVector<llvm::SetVector<int>> before_, after_;
  SmallVector<llvm::SetVector<Value>> inputs_;  // roots of what each reads
  llvm::DenseMap<Value, SmallVector<int>> readers_;
  llvm::DenseSet<Value> outside_;  // roots of the function's results
  SmallVector<bool> backward_;     // whether only gradients need a kernel
  size_t forwardKernels_ = 0;      // how many others there are
  SmallVector<bool> updates_;      // whether a kernel makes the new value of an argument
};

}  // namespace

LogicalResult schedule(ModuleOp module, const PipelineOptions&) {
  for (auto function : module.getOps<func::FuncOp>()) Scheduler(function).run();
  return success();
}

}  // namespace mxc::passes
