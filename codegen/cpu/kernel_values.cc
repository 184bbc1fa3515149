// Values of the CPU's KernelBuilder: loaded, or computed at their point by the fused elementwise ops; and kernels of such ops alone.
#include "codegen/cpu/kernel_builder.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace mxc::codegen {

Value CpuKernelBuilder::load(Value tensor, At at) {
  if (producer_ && tensor == waiting_.value) return loadMemory(waiting_.slot, waiting_.type, waiting_.place(at));
  if (auto it = slots_.find(tensor); it != slots_.end()) {
    TensorType type = rankedType(tensor);
    if (flat_) {
      // One index over the elements as they lie in memory, or a single element.
      TensorType line = tensorType({type.getNumElements()}, type.getElementType());
      return loadMemory(it->second, line, type.getNumElements() == 1 ? At(Index(0)) : at);
    }
    return loadMemory(it->second, type, at);
  }
  if (auto it = memo_.find(tensor); it != memo_.end()) return it->second;
  llvm::DenseMap<Value, Value> local;
  return compute(tensor, at, rankedType(tensor).getShape(), local);
}

// The value of a fused op at `at`, a point of a tensor of shape `shape`; what has that shape is computed once a point.
Value CpuKernelBuilder::compute(Value tensor, At at, ArrayRef<int64_t> shape, llvm::DenseMap<Value, Value>& memo) {
  bool samePoint = flat_ || rankedType(tensor).getShape() == shape;
  if (auto it = memo.find(tensor); samePoint && it != memo.end()) return it->second;
  if (slots_.count(tensor) || memo_.count(tensor)) {
    Value value = load(tensor, at);
    if (samePoint) memo[tensor] = value;
    return value;
  }
  Operation* op = tensor.getDefiningOp();
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(flat_ ? compute(operand, at, shape, memo)
                             : compute(operand, mx::broadcastAt(rankedType(operand), at), samePoint ? shape : ArrayRef<int64_t>(), memo));
  Body body = this->body();
  SmallVector<Value> values = cast<mx::ElementwiseRules>(op).body(body, operands);
  // Fused or not, each result is what it would be in memory.
  for (auto [result, value] : llvm::zip(op->getResults(), values)) value = body.settle(value, rankedType(result).getElementType());
  if (samePoint)
    for (auto [result, value] : llvm::zip(op->getResults(), values)) memo[result] = value;
  return values[cast<OpResult>(tensor).getResultNumber()];
}

// Computes all of `yields` at a point before it stores any: a result may lie over an operand.
void CpuKernelBuilder::storePoint(ArrayRef<std::pair<Value, unsigned>> yields, At at) {
  SmallVector<Value> values;
  for (auto [value, slot] : yields) values.push_back(compute(value, at, rankedType(value).getShape(), memo_));
  for (auto [yield, value] : llvm::zip(yields, values)) {
    TensorType type = rankedType(yield.first);
    storeMemory(yield.second, flat_ ? tensorType({type.getNumElements()}, type.getElementType()) : type, at, value);
  }
}

// The condition, the same for all lanes, that `at` lies inside; null if it always does.
Value CpuKernelBuilder::insideCondition(TensorType type, At at) {
  Value inside;
  auto require = [&](arith::CmpIPredicate predicate, Value value, int64_t bound) {
    Value holds = b_.create<arith::CmpIOp>(loc_, predicate, value, constant(bound));
    inside = inside ? b_.create<arith::AndIOp>(loc_, inside, holds).getResult() : holds;
  };
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    bool known = true;
    auto [lo, hi] = rangeOf(at[axis], known);
    if (batchAxis(type) == axis) continue;
    bool below = !known || lo < 0, above = !known || hi >= type.getDimSize(axis);
    if (!below && !above) continue;
    Value value = valueOf(at[axis]);
    if (below) require(arith::CmpIPredicate::sge, value, 0);
    if (above) require(arith::CmpIPredicate::slt, value, type.getDimSize(axis));
  }
  return inside;
}

Value CpuKernelBuilder::loadOr(Value tensor, At at, double outside) {
  TensorType type = rankedType(tensor);
  auto guarded = [&](At place) -> Value {
    Value inside = insideCondition(type, place);
    if (!inside) return load(tensor, place);
    Type element = valueType(type.getElementType()), result = vector_ ? Type(VectorType::get({vector_}, element)) : element;
    auto branch = b_.create<scf::IfOp>(loc_, TypeRange{result}, inside, true);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToEnd(branch.thenBlock());
    Value value = load(tensor, place);
    if (vector_ && !isa<VectorType>(value.getType())) value = b_.create<vector::BroadcastOp>(loc_, result, value);
    b_.create<scf::YieldOp>(loc_, value);
    b_.setInsertionPointToEnd(branch.elseBlock());
    Value other = body().constant(outside, type.getElementType());
    if (vector_) other = b_.create<vector::BroadcastOp>(loc_, result, other);
    b_.create<scf::YieldOp>(loc_, other);
    return branch.getResult(0);
  };
  bool mayLeave = false;
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    bool known = true;
    auto [lo, hi] = rangeOf(at[axis], known);
    if (batchAxis(type) != axis && variesByLane(at[axis]) && (!known || lo < 0 || hi >= type.getDimSize(axis))) mayLeave = true;
  }
  if (!mayLeave) return guarded(at);
  // Lanes may lie on both sides of the border: one at a time.
  int64_t lanes = vector_;
  int laneLoop = laneLoop_;
  Value gathered;
  for (int64_t i = 0; i < lanes; ++i) {
    Indices one;
    for (const Index& index : at) one.push_back(lane(index, i));
    vector_ = 0;
    laneLoop_ = -1;
    Value element = guarded(one);
    vector_ = lanes;
    laneLoop_ = laneLoop;
    if (!gathered) gathered = b_.create<vector::BroadcastOp>(loc_, VectorType::get({lanes}, element.getType()), element);
    else gathered = b_.create<vector::InsertOp>(loc_, element, gathered, ArrayRef<int64_t>{i});
  }
  return gathered;
}

void CpuKernelBuilder::store(Value result, At at, Value value) {
  if (memo_.count(result)) newPoint();
  if (vector_ && !isa<VectorType>(value.getType())) value = b_.create<vector::BroadcastOp>(loc_, VectorType::get({vector_}, value.getType()), value);
  memo_[result] = body().settle(value, rankedType(result).getElementType());
  if (producer_ && result.getDefiningOp() == producer_) storeWaiting(at);
  else storeYields(result, at);
}

// Stores what is yielded of the point just computed: the result itself, and the elementwise ops for which it was the last missing
// result of the anchor.
void CpuKernelBuilder::storeYields(Value stored, At at) {
  auto anchorResults = [&](Value yielded) {
    SmallVector<Value> found, work = {yielded};
    while (!work.empty()) {
      Value value = work.pop_back_val();
      Operation* op = value.getDefiningOp();
      if (!op) continue;
      if (op == anchor_) found.push_back(value);
      else work.append(op->operand_begin(), op->operand_end());
    }
    return found;
  };
  SmallVector<std::pair<Value, unsigned>> ready;
  for (auto yield : yields_) {
    SmallVector<Value> needed = anchorResults(yield.first);
    if (llvm::is_contained(needed, stored) && llvm::all_of(needed, [&](Value v) { return memo_.count(v); })) ready.push_back(yield);
  }
  storePoint(ready, at);
}

void CpuKernelBuilder::accumulate(Value result, At at, Value value) {
  for (auto [yielded, slot] : yields_) {
    if (yielded != result) continue;
    TensorType type = rankedType(result);
    storeMemory(slot, type, at, body().add(loadMemory(slot, type, at), value));
  }
}

Value CpuKernelBuilder::loadBack(Value result, At at) {
  for (auto [yielded, slot] : yields_)
    if (yielded == result) return loadMemory(slot, rankedType(result), at);
  // Nobody reads the result: neither does it matter.
  return body().constant(0, rankedType(result).getElementType());
}

// ---- Kernels of elementwise ops alone -------------------------------------------------------------------------------------------

// Whether all tensors lie in memory alike, or are single elements: then one loop over all elements does.
bool CpuKernelBuilder::isFlat() const {
  TensorType like = rankedType(yields_[0].first);
  Layout layout = layoutOf(like);
  if (layout.elements != like.getNumElements() || batchAxis(like) > 0) return false;
  auto fits = [&](TensorType type) {
    return type.getNumElements() == 1 && batchAxis(type) < 0 ? true : type.getShape() == like.getShape() && type.getEncoding() == like.getEncoding();
  };
  for (auto [value, slot] : slots_)
    if (!fits(rankedType(value))) return false;
  for (auto [value, slot] : yields_)
    if (rankedType(value).getShape() != like.getShape() || rankedType(value).getEncoding() != like.getEncoding()) return false;
  // Inside, too: an op that spreads a row would need to know where it is.
  mx::KernelOp kernel = kernel_;
  for (Operation& op : kernel.getBody().front().without_terminator())
    for (Value result : op.getResults())
      if (rankedType(result).getNumElements() != 1 && rankedType(result).getShape() != like.getShape()) return false;
  return true;
}

void CpuKernelBuilder::flatLoops() {
  TensorType like = rankedType(yields_[0].first);
  auto point = [&](Index at) { storePoint(yields_, At(at)); };
  flat_ = true;
  int64_t batch = batchAxis(like), total = like.getNumElements();
  if (batch == 0 && total / like.getDimSize(0) >= lanes_) {
    // A cell is a row: all elements of one step along the batch axis.
    int64_t row = total / like.getDimSize(0);
    grid({extentOf(like, 0)}, 1, [&](At at) { vectorLoop({row, 0}, [&](Index i) { point(at[0] * row + i); }); });
  } else if (batch == 0) {
    batchCells({total, batchUnit(like) * (total / like.getDimSize(0))}, point);
  } else {
    grid({{(total + kCellElements - 1) / kCellElements, 0}}, 1, [&](At at) {
      inBlocks(at[0], total, kCellElements, [&](Index base, int64_t size) {
        vectorLoop({size, 0}, [&](Index i) { point(base + i); });
      });
    });
  }
  flat_ = false;
}

LogicalResult CpuKernelBuilder::lowerElementwiseKernel() {
  if (yields_.empty()) return success();
  if (isFlat()) {
    flatLoops();
    return success();
  }
  // One nest for each shape and layout that is yielded.
  SmallVector<bool> done(yields_.size());
  for (size_t first = 0; first < yields_.size(); ++first) {
    if (done[first]) continue;
    TensorType like = rankedType(yields_[first].first);
    SmallVector<std::pair<Value, unsigned>> alike;
    for (size_t i = first; i < yields_.size(); ++i) {
      if (rankedType(yields_[i].first).getShape() != like.getShape()) continue;
      done[i] = true;
      alike.push_back(yields_[i]);
    }
    forall(yields_[first].first, [&](At at) { storePoint(alike, at); }, {});
  }
  return success();
}

}  // namespace mxc::codegen
