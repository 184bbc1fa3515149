// plan-memory: gives every kernel result a place.
//
//   %1 = mx.kernel(%0) ...      -->   %1 = mx.kernel(%0) attributes {mx.places = [#mx.place<"arena", 4096>]} ...
//
// and the function its `mx.arena_bytes` (to reserve), `mx.peak_live_bytes` (the largest sum alive at once: the bound) and
// `mx.peak_logical_bytes` (the same without the padding of layouts); where results are gradients, `mx.forward_kernels`: how many kernels
// come before those that only gradients need.
// Requires: the kernels stand in the order in which they run.
//
// In four steps:
//   1. Results of the function. A new value of an argument (`mx.donates`) lies in the argument's memory if everyone who reads the old
//      value comes earlier, or may be overwritten while reading; an output lies in the memory of that output. What does not fit gets a
//      kernel that copies at the end: a result that is an argument, a second result with the same value, a donation that came too soon.
//      Where results are gradients, other results are copied at the end of forward, unless that would overwrite what backward reads.
//   2. In place: a result takes the memory of an operand that dies in its kernel, where the kernel allows (overwrite.h).
//   3. Lifetimes, from the kernel that writes first to the last that reads; views keep what they look at alive.
//   4. Offsets (offsets.h).
#include "ir/mx.h"
#include "ir/ops/shape.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/forward_part.h"
#include "passes/offsets.h"
#include "passes/overwrite.h"
#include "passes/passes.h"
#include "passes/plan_memory.h"

using namespace mlir;

namespace mxc::passes {
namespace {

struct Sharing {
  bool inPlace, coShare;
};
Sharing sharingOf(MemoryPlan plan) {
  return {plan == MemoryPlan::inplace || plan == MemoryPlan::both, plan == MemoryPlan::coshare || plan == MemoryPlan::both};
}

class Planner {
 public:
  Planner(func::FuncOp function, Sharing sharing)
      : function_(function), block_(function.getBody().front()), builder_(block_.getTerminator()), sharing_(sharing) {}

  void run() {
    placeFunctionResults();
    numberKernels();
    placeOthers();
    writePlaces();
  }

 private:
  // ---- 1. results of the function -------------------------------------------------------------------------------------------
  void placeFunctionResults() {
    Operation* end = block_.getTerminator();
    findForwardEnd();
    numberKernels();
    SmallVector<OpOperand*> misfits;
    for (OpOperand& operand : end->getOpOperands())
      if (!keepsArgument(operand) && !placeDirectly(operand)) misfits.push_back(&operand);
    // Those that read an argument which a later copy overwrites go through the arena.
    for (OpOperand* operand : misfits)
      if (isa<BlockArgument>(memoryRoot(operand->get())) && isOverwritten(memoryRoot(operand->get())))
        operand->set(copy(operand->get(), forwardEnd_));
    for (OpOperand* operand : misfits) {
      Value copied = copy(operand->get(), isCopiedLate(*operand) ? end : forwardEnd_);
      place_[copied] = target(operand->getOperandNumber());
      operand->set(copied);
    }
  }

  // The first kernel that only gradients need; without gradients the terminator.
  void findForwardEnd() {
    forwardEnd_ = block_.getTerminator();
    if (!hasBackward(function_)) return;
    llvm::SmallPtrSet<Operation*, 16> forward = forwardPart(function_);
    Operation* last = nullptr;
    for (auto kernel : block_.getOps<mx::KernelOp>())
      if (forward.contains(kernel)) last = kernel;
    forwardEnd_ = last ? last->getNextNode() : &block_.front();
    while (isa<mx::ViewRules>(forwardEnd_)) forwardEnd_ = forwardEnd_->getNextNode();
  }

  bool isCopiedLate(OpOperand& result) {
    if (isGradientResult(function_, result.getOperandNumber())) return true;
    auto argument = donates(result.getOperandNumber());
    return argument && llvm::any_of(readers(function_.getArgument(*argument)), [&](Operation* reader) {
             return reader == forwardEnd_ || forwardEnd_->isBeforeInBlock(reader);
           });
  }

  std::optional<int64_t> donates(unsigned result) {
    auto attribute = function_.getResultAttrOfType<IntegerAttr>(result, "mx.donates");
    return attribute ? std::optional<int64_t>(attribute.getInt()) : std::nullopt;
  }
  mx::PlaceAttr place(StringRef space, int64_t at) { return mx::PlaceAttr::get(builder_.getContext(), space, at); }
  mx::PlaceAttr target(unsigned result) {
    if (auto argument = donates(result)) return place("argument", *argument);
    return place("result", result);
  }

  // A state that stays as it was.
  bool keepsArgument(OpOperand& operand) {
    auto argument = dyn_cast<BlockArgument>(operand.get());
    auto donated = donates(operand.getOperandNumber());
    return argument && donated && *donated == argument.getArgNumber();
  }

  bool placeDirectly(OpOperand& operand) {
    Value root = memoryRoot(operand.get());
    if (isa<BlockArgument>(root) || place_.count(root)) return false;
    if (auto argument = donates(operand.getOperandNumber()))
      if (root != operand.get() || !mayDonate(root, function_.getArgument(*argument))) return false;
    place_[root] = target(operand.getOperandNumber());
    return true;
  }

  bool isOverwritten(Value argument) {
    return llvm::any_of(block_.getTerminator()->getOpOperands(), [&](OpOperand& operand) {
      auto donated = donates(operand.getOperandNumber());
      return donated && *donated == cast<BlockArgument>(argument).getArgNumber() && operand.get() != argument;
    });
  }

  bool mayDonate(Value value, Value argument) {
    auto kernel = value.getDefiningOp<mx::KernelOp>();
    if (value.getType() != argument.getType()) return false;
    for (Operation* reader : readers(argument)) {
      if (reader == kernel ? !canOverwrite(kernel, argument, value) : !reader->isBeforeInBlock(kernel)) return false;
    }
    return true;
  }

  Value copy(Value value, Operation* before) {
    builder_.setInsertionPoint(before);
    auto kernel = builder_.create<mx::KernelOp>(value.getLoc(), value.getType(), value);
    OpBuilder::InsertionGuard guard(builder_);
    Block* body = builder_.createBlock(&kernel.getBody());
    Value inside = body->addArgument(value.getType(), value.getLoc());
    Value moved = builder_.create<mx::RelayoutOp>(value.getLoc(), value.getType(), inside, TypeAttr::get(value.getType()));
    builder_.create<mx::YieldOp>(value.getLoc(), moved);
    return kernel.getResult(0);
  }

  // ---- Facts ------------------------------------------------------------------------------------------------------------------
  void numberKernels() {
    kernels_.clear();
    for (auto kernel : block_.getOps<mx::KernelOp>()) {
      number_[kernel] = kernels_.size();
      kernels_.push_back(kernel);
    }
    number_[block_.getTerminator()] = kernels_.size();
  }

  // Kernels (and the terminator) that read the memory of `root`.
  SmallVector<Operation*> readers(Value root) {
    SmallVector<Operation*> found;
    for (Operation* user : root.getUsers()) {
      if (isa<mx::ViewRules>(user)) llvm::append_range(found, readers(user->getResult(0)));
      else found.push_back(user);
    }
    return found;
  }

  bool canOverwrite(mx::KernelOp kernel, Value root, Value result) {
    SmallVector<unsigned> operands;
    for (OpOperand& operand : kernel->getOpOperands())
      if (memoryRoot(operand.get()) == root) operands.push_back(operand.getOperandNumber());
    return kernelCanOverwrite(kernel, operands, cast<OpResult>(result).getResultNumber());
  }

  // ---- 2. and 3. blocks of the arena, with their lifetimes ---------------------------------------------------------------------
  void placeOthers() {
    for (mx::KernelOp kernel : kernels_) {
      llvm::SmallDenseSet<size_t> taken;
      for (Value result : kernel.getResults()) {
        if (place_.count(result)) continue;
        std::optional<size_t> block = sharing_.inPlace ? dyingOperand(kernel, result, taken) : std::nullopt;
        if (!block) {
          block = lifetimes_.size();
          lifetimes_.push_back({number_[kernel], number_[kernel], bytesOf(rankedType(result))});
          logicalBytes_.push_back(logicalBytes(rankedType(result)));
        }
        taken.insert(*block);
        blockOf_[result] = *block;
        for (Operation* reader : readers(result)) lifetimes_[*block].end = std::max(lifetimes_[*block].end, number_[reader]);
      }
    }
  }

  // The block of an operand that nobody needs after `kernel` and that `result` may overwrite.
  std::optional<size_t> dyingOperand(mx::KernelOp kernel, Value result, const llvm::SmallDenseSet<size_t>& taken) {
    for (Value operand : kernel.getInputs()) {
      Value root = memoryRoot(operand);
      auto block = blockOf_.find(root);
      if (block == blockOf_.end() || taken.contains(block->second)) continue;
      if (lifetimes_[block->second].end == number_[kernel] && canOverwrite(kernel, root, result)) return block->second;
    }
    return std::nullopt;
  }

  // ---- 4. offsets -----------------------------------------------------------------------------------------------------------------
  void writePlaces() {
    Offsets offsets = sharing_.coShare ? offsetsShared(lifetimes_, kArenaAlignment) : offsetsApart(lifetimes_, kArenaAlignment);
    for (mx::KernelOp kernel : kernels_) {
      SmallVector<Attribute> places;
      for (Value result : kernel.getResults())
        places.push_back(place_.count(result) ? place_[result] : place("arena", offsets.at[blockOf_.at(result)]));
      kernel->setAttr("mx.places", builder_.getArrayAttr(places));
    }
    if (hasBackward(function_)) {
      int64_t count = llvm::count_if(kernels_, [&](mx::KernelOp kernel) { return kernel->isBeforeInBlock(forwardEnd_); });
      function_->setAttr("mx.forward_kernels", builder_.getI64IntegerAttr(count));
    }
    function_->setAttr("mx.arena_bytes", builder_.getI64IntegerAttr(offsets.bytes));
    function_->setAttr("mx.peak_live_bytes", builder_.getI64IntegerAttr(peakLive(lifetimes_)));
    std::vector<Lifetime> logical = lifetimes_;
    for (size_t block = 0; block < logical.size(); ++block) logical[block].bytes = logicalBytes_[block];
    function_->setAttr("mx.peak_logical_bytes", builder_.getI64IntegerAttr(peakLive(logical)));
  }

  func::FuncOp function_;
  Block& block_;
  OpBuilder builder_;
  Sharing sharing_;
  Operation* forwardEnd_ = nullptr;  // the first operation of backward, before which forward's results are copied
  SmallVector<mx::KernelOp> kernels_;
  llvm::DenseMap<Operation*, int64_t> number_;
  llvm::DenseMap<Value, mx::PlaceAttr> place_;  // results outside the arena
  llvm::DenseMap<Value, size_t> blockOf_;       // results in it
  std::vector<Lifetime> lifetimes_;             // of each block
  std::vector<int64_t> logicalBytes_;           // of each block, without the padding of its layout
};

}  // namespace

int64_t plannedArenaBytes(func::FuncOp function, MemoryPlan plan) {
  OwningOpRef<func::FuncOp> copy = cast<func::FuncOp>(function->clone());
  Planner(*copy, sharingOf(plan)).run();
  return (*copy)->getAttrOfType<IntegerAttr>("mx.arena_bytes").getInt();
}

LogicalResult planMemory(ModuleOp module, const PipelineOptions& options) {
  for (auto function : module.getOps<func::FuncOp>()) Planner(function, sharingOf(options.memoryPlan)).run();
  return success();
}

}  // namespace mxc::passes
