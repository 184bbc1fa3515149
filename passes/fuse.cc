// fuse: wraps every operation in an mx.kernel, together with the elementwise work around it.
//
//   %y = mx.conv2d %x, %w, %b                       %0 = mx.kernel(%x, %w, %b) {
//   %z = mx.tanh %y                       -->         %y = mx.conv2d ...
//   %p = mx.max_pool %z                               %z = mx.tanh %y
//                                                     mx.yield %z }
//                                                   %1 = mx.kernel(%0) { %p = mx.max_pool ...; mx.yield %p }
//
// A kernel has at most one operation that is not elementwise, its anchor (or two, see windows), and elementwise ones of three sorts:
//   epilogue   depends on one result of the anchor and has its shape: computed as that result's element is stored. It may read other
//              values at the same point, and values that elementwise operations of the kernel make there from such values.
//   prologue   the anchor depends on it: computed where the anchor loads, so the anchor must load each element about once, and the
//              work must be cheap and nobody else's.
//   without an anchor, all have one shape: they run in one loop nest, and each may be a result.
//   windows    before an anchor that reads in windows (a pooling) may stand another that makes rows (a convolution), whose result nobody
//              else reads, with an epilogue that stays in the kernel: of that only the rows of a few windows are ever in memory.
// A value that two kernels use is stored once, except for recomputed ones (form_kernels.h). Kernels never depend on each other. What
// depends on a gradient that is given from outside (mx.head_gradient) shares no kernel with what forward needs: it comes later.
//
// The method, two kinds of merging, each where the result is legal by the above:
//   1. A kernel merges with the only user of one of its values, which then need not be stored. Until nothing changes.
//   2. A kernel takes in elementwise work that follows it at once and reads a value that is stored all the same. Not from further away:
//      what the backward pass computes from a stored value would be computed, stored and kept by the forward pass.
#include "ir/mx.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "passes/form_kernels.h"
#include "passes/forward_part.h"
#include "passes/passes.h"

using namespace mlir;

namespace mxc::passes {
namespace {

constexpr int64_t kPrologueCost = 8;  // additions an element that may be done again for each load
constexpr size_t kMostOps = 64;       // of a kernel: longer ones compile slowly and have more values alive than registers

bool isElementwise(Operation* op) { return isa<mx::ElementwiseRules>(op); }
bool sameSpace(Value a, Value b) {
  TensorType ta = rankedType(a), tb = rankedType(b);
  return ta.getShape() == tb.getShape() && batchAxis(ta) == batchAxis(tb);
}

// The operations that become kernels, in program order.
SmallVector<Operation*> kernelOps(func::FuncOp function) {
  SmallVector<Operation*> ops;
  for (Operation& op : function.getBody().front().without_terminator())
    if (needsKernel(&op) && (!isRecomputed(&op) || mustBeStored(&op))) ops.push_back(&op);
  return ops;
}

class Fuser {
 public:
  Fuser(func::FuncOp function, bool smallStack) : ops_(kernelOps(function)), smallStack_(smallStack) {
    for (size_t i = 0; i < ops_.size(); ++i) {
      index_[ops_[i]] = i;
      group_.push_back(i);
      members_.push_back({static_cast<int>(i)});
    }
    seenGroup_.resize(ops_.size(), 0);
    for (Operation* op : ops_) {
      llvm::SetVector<int> users;
      llvm::SmallPtrSet<Operation*, 8> seen;
      collectUsers(op, users, seen);
      users_.emplace_back(users.begin(), users.end());
    }
    findTimes(function);
  }

  SmallVector<SmallVector<Operation*>> run() {
    while (mergeAll([&](Value value, int user) { return isUsedOnlyIn(value, user); })) {
    }
    mergeAll([&](Value value, int user) { return followsAtOnce(value, user); });
    SmallVector<SmallVector<Operation*>> groups;
    for (const auto& members : members_) {
      if (members.empty()) continue;
      groups.emplace_back();
      for (int member : members) groups.back().push_back(ops_[member]);
    }
    return groups;
  }

 private:
  // Merges the kernels of each operation's operands with the operation's own, latest first, where `wanted` and legal.
  bool mergeAll(llvm::function_ref<bool(Value, int)> wanted) {
    bool changed = false;
    for (size_t i = 0; i < ops_.size(); ++i) {
      for (auto [source, value] : candidates(ops_[i])) {
        int a = group_[source], b = group_[i];
        if (a == b || !wanted(value, b) || !mayMerge(a, b)) continue;
        merge(a, b);
        changed = true;
      }
    }
    return changed;
  }

  // The operands of `op` that it could read as they are computed, with the operation that makes them, latest first.
  SmallVector<std::pair<int, Value>> candidates(Operation* op) {
    SmallVector<std::pair<int, Value>> found;
    auto joinsAnchor = [&](unsigned operand) {
      Reading reading = cast<mx::OpRules>(op).reading(operand);
      return reading == Reading::once || reading == Reading::windows;
    };
    for (OpOperand& operand : op->getOpOperands()) {
      Operation* def = operand.get().getDefiningOp();
      auto it = def ? index_.find(def) : index_.end();
      if (it == index_.end() || isRecomputed(def)) continue;
      bool joins = isElementwise(op) ? sameSpace(operand.get(), op->getResult(0)) : joinsAnchor(operand.getOperandNumber());
      if (joins) found.push_back({it->second, operand.get()});
    }
    llvm::sort(found, [](auto& a, auto& b) {
      if (a.first != b.first) return a.first > b.first;
      return cast<OpResult>(a.second).getResultNumber() < cast<OpResult>(b.second).getResultNumber();
    });
    return found;
  }

  bool isUsedOnlyIn(Value value, int group) {
    return llvm::all_of(value.getUsers(), [&](Operation* user) {
      auto it = index_.find(user);
      return it != index_.end() && !isRecomputed(user) && group_[it->second] == group;
    });
  }

  // Whether no anchor stands between the kernel that makes `value` and `group`.
  bool followsAtOnce(Value value, int group) {
    int last = members_[group_[index_.at(value.getDefiningOp())]].back(), first = members_[group].front();
    for (int i = last + 1; i < first; ++i)
      if (!isElementwise(ops_[i])) return false;
    return isElementwise(ops_[first]);
  }

  // Those that read results of `op`, be it through operations that get no kernel.
  void collectUsers(Operation* op, llvm::SetVector<int>& users, llvm::SmallPtrSetImpl<Operation*>& seen) {
    for (Operation* user : op->getUsers()) {
      auto it = index_.find(user);
      if (it != index_.end()) users.insert(it->second);
      else if (seen.insert(user).second) collectUsers(user, users, seen);
    }
  }

  // Forward's operations, and those that wait for head gradients.
  void findTimes(func::FuncOp function) {
    llvm::SmallPtrSet<Value, 16> waiting;
    for (BlockArgument argument : function.getArguments())
      if (function.getArgAttr(argument.getArgNumber(), "mx.head_gradient")) waiting.insert(argument);
    if (waiting.empty()) return;
    forward_ = forwardPart(function);
    for (Operation& op : function.getBody().front()) {
      if (!llvm::any_of(op.getOperands(), [&](Value operand) { return waiting.contains(operand); })) continue;
      waits_.insert(&op);
      waiting.insert(op.result_begin(), op.result_end());
    }
  }
  bool anyIn(const llvm::SmallPtrSetImpl<Operation*>& set, int group) {
    return llvm::any_of(members_[group], [&](int member) { return set.contains(ops_[member]); });
  }
  bool comesLater(int a, int b) { return anyIn(forward_, a) && anyIn(waits_, b); }

  bool mayMerge(int a, int b) {
    if (members_[a].size() + members_[b].size() > kMostOps) return false;
    if (comesLater(a, b) || comesLater(b, a)) return false;
    SmallVector<int> all = members_[a];
    all.append(members_[b]);
    llvm::sort(all);
    return isKernel(all) && !makesCycle(a, b);
  }

  // Whether the operations, in program order, fit the description at the top of this file.
  bool isKernel(ArrayRef<int> members) {
    llvm::SmallPtrSet<Operation*, 16> inside;
    Operation *producer = nullptr, *anchor = nullptr;
    for (int member : members) {
      Operation* op = ops_[member];
      inside.insert(op);
      if (isElementwise(op)) continue;
      if (producer) return false;
      producer = anchor;
      anchor = op;
    }
    if (!anchor)
      return llvm::all_of(members, [&](int member) { return sameSpace(ops_[member]->getResult(0), ops_[members[0]]->getResult(0)); });
    return isEpilogueAndPrologue(members, inside, producer, anchor);
  }

  // `producer`: the anchor before the anchor, or null.
  bool isEpilogueAndPrologue(ArrayRef<int> members, const llvm::SmallPtrSetImpl<Operation*>& inside, Operation* producer, Operation* anchor) {
    llvm::DenseMap<Operation*, Value> root;  // the anchor's, or the producer's, result that an operation depends on
    int64_t prologueCost = 0;
    for (int member : members) {
      Operation* op = ops_[member];
      if (op == anchor || op == producer) continue;
      Value from;
      for (Value operand : op->getOperands()) {
        Operation* def = operand.getDefiningOp();
        Value source = def && (def == anchor || def == producer) ? operand : root.lookup(def);
        if (source && from && source != from) return false;
        if (source) from = source;
      }
      if (from) {
        auto maker = cast<mx::OpRules>(from.getDefiningOp());
        if (!sameSpace(op->getResult(0), from) || !maker.storesFinal(cast<OpResult>(from).getResultNumber())) return false;
        if (maker == producer && !isUsedOnlyBy(op, inside)) return false;
        root[op] = from;
      } else if (!isUsedOnlyBy(op, inside)) {
        return false;
      }
    }
    for (int member : members) {
      Operation* op = ops_[member];
      if (op == anchor || op == producer || root.count(op)) continue;
      bool feedsAnchor = false, feedsEpilogue = false;
      llvm::SmallPtrSet<Operation*, 8> seen;
      if (!servesOnePurpose(op, anchor, root, seen, feedsAnchor, feedsEpilogue) || (producer && feedsAnchor)) return false;
      if (feedsAnchor) prologueCost += cast<mx::ElementwiseRules>(op).cost();
    }
    if (producer) return isUsedOnlyBy(producer, inside) && mayWait(producer, anchor, root);
    return prologueCost <= kPrologueCost && readsPrologueOnce(anchor, inside);
  }

  // Whether `anchor` reads in windows what `producer`, and elementwise work behind it, can make row by row; in vectors of channels, as
  // both lie in memory, and few enough bytes.
  bool mayWait(Operation* producer, Operation* anchor, const llvm::DenseMap<Operation*, Value>& root) {
    if (smallStack_ || !cast<mx::OpRules>(producer).makesRows() || cast<mx::OpRules>(anchor).reading(0) != Reading::windows) return false;
    Value read = anchor->getOperand(0), from = root.lookup(read.getDefiningOp());
    if (read.getDefiningOp() != producer && (!from || from.getDefiningOp() != producer)) return false;
    SmallVector<Value> tensors(anchor->getResults());
    tensors.push_back(read);
    constexpr int64_t kVectorBytes = 64;
    return llvm::all_of(tensors, [](Value tensor) { return layoutOf(rankedType(tensor)).blockAxis == 1; }) &&
           cast<mx::OpRules>(anchor).window().size * rankedType(read).getDimSize(3) * kVectorBytes <= kWindowBytes;
  }

  // Whether everything that `op`, of which nothing is a result, leads to is the anchor, or else is an epilogue of the same shape.
  bool servesOnePurpose(Operation* op, Operation* anchor, const llvm::DenseMap<Operation*, Value>& root,
                        llvm::SmallPtrSetImpl<Operation*>& seen, bool& feedsAnchor, bool& feedsEpilogue) {
    for (Operation* user : op->getUsers()) {
      if (!seen.insert(user).second) continue;
      if (user == anchor) {
        feedsAnchor = true;
      } else if (root.count(user)) {
        feedsEpilogue = true;
      } else if (!isElementwise(user) || isRecomputed(user) || !servesOnePurpose(user, anchor, root, seen, feedsAnchor, feedsEpilogue)) {
        return false;
      }
      if (user != anchor && !sameSpace(op->getResult(0), user->getResult(0))) return false;
    }
    return !(feedsAnchor && feedsEpilogue);
  }

  bool readsPrologueOnce(Operation* anchor, const llvm::SmallPtrSetImpl<Operation*>& inside) {
    return llvm::all_of(anchor->getOpOperands(), [&](OpOperand& operand) {
      Operation* def = operand.get().getDefiningOp();
      return !def || !inside.contains(def) || isRecomputed(def) ||
             cast<mx::OpRules>(anchor).reading(operand.getOperandNumber()) == Reading::once;
    });
  }

  bool isUsedOnlyBy(Operation* op, const llvm::SmallPtrSetImpl<Operation*>& inside) {
    return llvm::all_of(op->getUsers(), [&](Operation* user) { return inside.contains(user); });
  }

  // Whether a path leads from one of the two groups out of both and back into one of them. A kernel runs as a whole: whoever reads any
  // of its results comes after all of it.
  bool makesCycle(int a, int b) {
    ++visit_;
    SmallVector<int> stack;
    bool back = false;
    auto pushUsers = [&](int group, bool fromInside) {
      for (int member : members_[group])
        for (int user : users_[member]) {
          int next = group_[user];
          bool inside = next == a || next == b;
          if (inside) back |= !fromInside;
          else if (seenGroup_[next] != visit_) seenGroup_[next] = visit_, stack.push_back(next);
        }
    };
    pushUsers(a, true);
    pushUsers(b, true);
    while (!stack.empty() && !back) pushUsers(stack.pop_back_val(), false);
    return back;
  }

  void merge(int a, int b) {
    members_[a].append(members_[b]);
    llvm::sort(members_[a]);
    for (int member : members_[b]) group_[member] = a;
    members_[b].clear();
  }

  SmallVector<Operation*> ops_;
  const bool smallStack_;
  llvm::DenseMap<Operation*, int> index_;
  SmallVector<SmallVector<int, 2>> users_;  // of each operation
  SmallVector<int> group_;                  // of each operation
  SmallVector<SmallVector<int>> members_;   // of each group, in program order
  llvm::SmallPtrSet<Operation*, 16> forward_, waits_;  // both empty where nothing waits
  SmallVector<int64_t> seenGroup_;          // the last visit of each group
  int64_t visit_ = 0;
};

}  // namespace

LogicalResult fuse(ModuleOp module, const PipelineOptions& options) {
  for (auto function : module.getOps<func::FuncOp>()) formKernels(function, Fuser(function, options.smallStack).run());
  return success();
}

LogicalResult fuseNothing(ModuleOp module, const PipelineOptions&) {
  for (auto function : module.getOps<func::FuncOp>()) {
    SmallVector<SmallVector<Operation*>> groups;
    for (Operation* op : kernelOps(function)) groups.push_back({op});
    formKernels(function, groups);
  }
  return success();
}

}  // namespace mxc::passes
