// A kernel's operands are what its operations read from outside; its results are what others read of theirs. Recomputed operations
// are copied into every kernel that uses them.
#include "passes/form_kernels.h"

#include <queue>

#include "ir/mx.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace mxc::passes {
namespace {

constexpr int64_t kCheap = 4;  // additions

bool isScalarArgument(Value value) { return isa<BlockArgument>(value) && rankedType(value).getRank() == 0; }
bool isRecomputedValue(Value value) { return value.getDefiningOp() && isRecomputed(value.getDefiningOp()); }

// One function's kernels in the making.
class Former {
 public:
  Former(func::FuncOp function, ArrayRef<SmallVector<Operation*>> groups)
      : block_(function.getBody().front()), builder_(block_.getTerminator()) {
    int position = 0;
    for (Operation& op : block_) position_[&op] = position++;
    for (const auto& group : groups) {
      for (Operation* op : group) node_[op] = nodes_.size();
      nodes_.push_back(group);
    }
    for (Operation& op : block_.without_terminator()) {
      if (isa<mx::ViewRules>(op)) {
        node_[&op] = nodes_.size();
        nodes_.push_back({&op});
      }
    }
  }

  void run() {
    SmallVector<Operation*> old;
    for (Operation& op : block_.without_terminator()) old.push_back(&op);
    for (int node : sortedNodes()) {
      if (isa<mx::ViewRules>(nodes_[node][0])) builder_.clone(*nodes_[node][0], mapping_);
      else makeKernel(nodes_[node]);
    }
    for (OpOperand& operand : block_.getTerminator()->getOpOperands())
      if (Value made = mapping_.lookupOrNull(operand.get())) operand.set(made);
    for (Operation* op : llvm::reverse(old)) op->erase();
  }

 private:
  // The nodes that `op` reads from, through recomputed operations that `op`'s kernel will hold.
  void forEachSource(Operation* op, llvm::function_ref<void(int)> visit) {
    for (OpOperand& operand : op->getOpOperands()) {
      Operation* def = operand.get().getDefiningOp();
      if (!def) continue;
      if (isRecomputed(def) && takesRecomputed(op, operand.getOperandNumber())) forEachSource(def, visit);
      else visit(node_.at(def));
    }
  }

  // Topological order; among nodes that are ready, the one that begins first.
  SmallVector<int> sortedNodes() {
    SmallVector<llvm::SetVector<int>> users(nodes_.size());
    SmallVector<int> missing(nodes_.size(), 0);
    for (size_t node = 0; node < nodes_.size(); ++node) {
      llvm::SetVector<int> sources;
      for (Operation* op : nodes_[node]) forEachSource(op, [&](int source) { sources.insert(source); });
      sources.remove(node);
      for (int source : sources) users[source].insert(node);
      missing[node] = sources.size();
    }
    auto later = [&](int a, int b) { return position_[nodes_[a].front()] > position_[nodes_[b].front()]; };
    std::priority_queue<int, std::vector<int>, decltype(later)> ready(later);
    for (size_t node = 0; node < nodes_.size(); ++node)
      if (missing[node] == 0) ready.push(node);
    SmallVector<int> order;
    while (!ready.empty()) {
      int node = ready.top();
      ready.pop();
      order.push_back(node);
      for (int user : users[node])
        if (--missing[user] == 0) ready.push(user);
    }
    assert(order.size() == nodes_.size() && "groups depend on each other");
    return order;
  }

  // Whether anything outside `group` reads `value`, be it through a recomputed operation.
  bool leaves(Value value, const llvm::SmallPtrSetImpl<Operation*>& group) {
    return llvm::any_of(value.getUsers(), [&](Operation* user) {
      if (group.contains(user)) return false;
      if (!isRecomputed(user)) return true;
      if (node_.count(user)) return true;
      return llvm::any_of(user->getResults(), [&](Value result) { return leaves(result, group); });
    });
  }

  // The operations of the kernel in order: those of the group, and before each the recomputed ones that it reads, but for what is `stored`.
  void collect(Operation* op, const llvm::SmallPtrSetImpl<Value>& stored, llvm::SetVector<Operation*>& ops) {
    for (OpOperand& operand : op->getOpOperands())
      if (isRecomputedValue(operand.get()) && takesRecomputed(op, operand.getOperandNumber()) && !stored.contains(operand.get()))
        collect(operand.get().getDefiningOp(), stored, ops);
    ops.insert(op);
  }

  // What could be recomputed, but an operation of the group needs it from memory: all of them read it there.
  llvm::SmallPtrSet<Value, 4> storedFor(ArrayRef<Operation*> group) {
    llvm::SmallPtrSet<Value, 4> stored;
    for (Operation* op : group)
      for (OpOperand& operand : op->getOpOperands())
        if (isRecomputedValue(operand.get()) && !takesRecomputed(op, operand.getOperandNumber())) stored.insert(operand.get());
    return stored;
  }

  void makeKernel(ArrayRef<Operation*> group) {
    llvm::SetVector<Operation*> ops;
    const llvm::SmallPtrSet<Value, 4> stored = storedFor(group);
    for (Operation* op : group) collect(op, stored, ops);
    llvm::SmallPtrSet<Operation*, 8> inside(group.begin(), group.end());
    SmallVector<Value> outputs;
    Location loc = group.front()->getLoc();
    for (Operation* op : group) {
      if (!isa<mx::ElementwiseRules>(op)) loc = op->getLoc();
      for (Value result : op->getResults())
        if (leaves(result, inside)) outputs.push_back(result);
    }
    llvm::SetVector<Value> inputs;
    for (Operation* op : ops)
      for (Value operand : op->getOperands())
        if (!operand.getDefiningOp() || !ops.contains(operand.getDefiningOp())) inputs.insert(operand);
    SmallVector<Value> mapped;
    for (Value input : inputs) mapped.push_back(mapping_.lookupOrDefault(input));

    auto kernel = builder_.create<mx::KernelOp>(loc, ValueRange(outputs).getTypes(), mapped);
    OpBuilder::InsertionGuard guard(builder_);
    Block* body = builder_.createBlock(&kernel.getBody());
    IRMapping inner;
    for (Value input : inputs) inner.map(input, body->addArgument(input.getType(), input.getLoc()));
    for (Operation* op : ops) builder_.clone(*op, inner);
    SmallVector<Value> yielded;
    for (Value output : outputs) yielded.push_back(inner.lookup(output));
    builder_.create<mx::YieldOp>(loc, yielded);
    for (auto [output, result] : llvm::zip(outputs, kernel.getResults())) mapping_.map(output, result);
  }

  Block& block_;
  OpBuilder builder_;
  llvm::DenseMap<Operation*, int> position_, node_;
  SmallVector<SmallVector<Operation*>> nodes_;
  IRMapping mapping_;
};

}  // namespace

bool needsKernel(Operation* op) { return isa<mx::OpRules>(op) && !isa<mx::ViewRules>(op); }

bool isRecomputed(Operation* op) {
  auto rules = dyn_cast<mx::ElementwiseRules>(op);
  if (!rules) return false;
  TensorType type = rankedType(op->getResult(0));
  if (type.getRank() == 0)
    return rules.cost() <= kCheap && llvm::all_of(op->getOperands(), [](Value v) { return isScalarArgument(v) || isRecomputedValue(v); });
  return rules.cost() == 0 && op->getNumOperands() > 0 && llvm::all_of(op->getOperands(), [&](Value v) {
    return rankedType(v).getNumElements() < type.getNumElements();
  });
}

bool takesRecomputed(Operation* op, unsigned operand) {
  if (isa<mx::ElementwiseRules>(op)) return true;
  auto rules = dyn_cast<mx::OpRules>(op);
  return rules && !isa<mx::ViewRules>(op) && rules.reading(operand) != Reading::stored;
}

bool mustBeStored(Operation* op) {
  return llvm::any_of(op->getUses(), [](OpOperand& use) { return !takesRecomputed(use.getOwner(), use.getOperandNumber()); });
}

void formKernels(func::FuncOp function, ArrayRef<SmallVector<Operation*>> groups) { Former(function, groups).run(); }

}  // namespace mxc::passes
