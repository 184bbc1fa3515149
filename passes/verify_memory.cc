// The book: for each space a list of byte ranges with the value that was last written there. Writing cuts what it overlaps out of the
// book, reading asks that the whole range is still in it.
#include "passes/verify_memory.h"

#include "ir/mx.h"
#include "passes/overwrite.h"
#include "passes/passes.h"

using namespace mlir;

namespace mxc::passes {
namespace {

// Bytes [begin, end) of a space: the arena, or the memory of one argument or output.
struct Range {
  std::string space;
  int64_t begin, end;
  bool overlaps(const Range& other) const { return space == other.space && begin < other.end && other.begin < end; }
  bool operator==(const Range& other) const { return space == other.space && begin == other.begin && end == other.end; }
};

class Replay {
 public:
  explicit Replay(func::FuncOp function) : function_(function), block_(function.getBody().front()) {}

  LogicalResult run() {
    auto arena = function_->getAttrOfType<IntegerAttr>("mx.arena_bytes");
    if (!arena) return function_.emitError("has no memory plan");
    arenaBytes_ = arena.getInt();
    for (BlockArgument argument : function_.getArguments())
      write(argument, {"argument" + std::to_string(argument.getArgNumber()), 0, bytesOf(rankedType(argument))});
    for (auto kernel : block_.getOps<mx::KernelOp>())
      if (failed(step(kernel))) return failure();
    return finish();
  }

 private:
  LogicalResult step(mx::KernelOp kernel) {
    for (Value input : kernel.getInputs())
      if (!isIntact(memoryRoot(input))) return kernel.emitError() << "reads an operand that has been overwritten";
    SmallVector<Range> ranges;
    for (unsigned i = 0; i < kernel.getNumResults(); ++i) {
      FailureOr<Range> range = placeOf(kernel, i);
      if (failed(range) || failed(checkOverlaps(kernel, i, *range, ranges))) return failure();
      ranges.push_back(*range);
    }
    for (auto [result, range] : llvm::zip(kernel.getResults(), ranges)) write(result, range);
    return success();
  }

  FailureOr<Range> placeOf(mx::KernelOp kernel, unsigned i) {
    auto places = kernel->getAttrOfType<ArrayAttr>("mx.places");
    if (!places || places.size() != kernel.getNumResults()) return kernel.emitError() << "needs one place for each result";
    auto place = dyn_cast<mx::PlaceAttr>(places[i]);
    if (!place) return kernel.emitError() << "result " << i << " has no place";
    int64_t bytes = bytesOf(rankedType(kernel.getResult(i)));
    if (place.getSpace() != "arena") return Range{place.getSpace().str() + std::to_string(place.getAt()), 0, bytes};
    if (place.getAt() < 0 || place.getAt() + bytes > arenaBytes_)
      return kernel.emitError() << "result " << i << " lies outside the arena";
    return Range{"arena", place.getAt(), place.getAt() + bytes};
  }

  LogicalResult checkOverlaps(mx::KernelOp kernel, unsigned result, const Range& range, ArrayRef<Range> siblings) {
    for (const Range& other : siblings)
      if (range.overlaps(other)) return kernel.emitError() << "result " << result << " overlaps another result";
    SmallVector<unsigned> operands;
    for (OpOperand& operand : kernel->getOpOperands()) {
      const Range& read = where_.at(memoryRoot(operand.get()));
      if (!range.overlaps(read)) continue;
      if (!(range == read))
        return kernel.emitError() << "result " << result << " overlaps part of operand " << operand.getOperandNumber();
      operands.push_back(operand.getOperandNumber());
    }
    if (!operands.empty() && !kernelCanOverwrite(kernel, operands, result))
      return kernel.emitError() << "result " << result << " overwrites operand " << operands[0] << " while it is read";
    return success();
  }

  LogicalResult finish() {
    for (OpOperand& operand : block_.getTerminator()->getOpOperands()) {
      unsigned i = operand.getOperandNumber();
      auto donates = function_.getResultAttrOfType<IntegerAttr>(i, "mx.donates");
      std::string wanted = donates ? "argument" + std::to_string(donates.getInt()) : "result" + std::to_string(i);
      Value root = memoryRoot(operand.get());
      if (!where_.count(root) || where_[root].space != wanted)
        return function_.emitError() << "result " << i << " does not lie in its memory";
      if (!isIntact(root)) return function_.emitError() << "result " << i << " has been overwritten";
    }
    return success();
  }

  void write(Value value, const Range& range) {
    for (auto it = book_.begin(); it != book_.end();) {
      if (range.overlaps(where_.at(*it))) it = book_.erase(it);
      else ++it;
    }
    where_[value] = range;
    book_.push_back(value);
  }
  bool isIntact(Value value) { return llvm::is_contained(book_, value); }

  func::FuncOp function_;
  Block& block_;
  int64_t arenaBytes_ = 0;
  std::vector<Value> book_;             // values no byte of which has been overwritten
  llvm::DenseMap<Value, Range> where_;  // where each was written
};

}  // namespace

LogicalResult verifyMemory(func::FuncOp function) { return Replay(function).run(); }

LogicalResult verifyPlan(ModuleOp module, const PipelineOptions&) {
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(verifyMemory(function))) return failure();
  return success();
}

}  // namespace mxc::passes
