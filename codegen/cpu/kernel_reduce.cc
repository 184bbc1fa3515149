// Reductions of the CPU's KernelBuilder: fixed numbers of lanes, a fixed tree.
#include <limits>

#include "codegen/cpu/kernel_builder.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace mxc::codegen {
namespace {

// Static inner loops up to this count are written out.
constexpr int64_t kUnroll = 5;

// Chunks of a run that a sum of f32 adds up in f32; what such blocks give is added up in f64. So many that a block's rounding is no matter, and
// that shorter runs have none of this.
constexpr int64_t kBlockChunks = 64;

}  // namespace

TypedAttr CpuKernelBuilder::identityOf(Combine combine, Type element) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  bool max = combine == Combine::max, min = combine == Combine::min;
  if (isa<FloatType>(element)) return b_.getFloatAttr(element, combine == Combine::product ? 1 : max ? -kInfinity : min ? kInfinity : 0);
  unsigned width = element.getIntOrFloatBitWidth();
  if (width == 1) return b_.getIntegerAttr(element, min || combine == Combine::product);
  if (max || min) return b_.getIntegerAttr(element, max ? APInt::getSignedMinValue(width) : APInt::getSignedMaxValue(width));
  return b_.getIntegerAttr(element, combine == Combine::product ? 1 : 0);
}

Value CpuKernelBuilder::identity(Combine combine, Type element, int64_t lanes) {
  Value scalar = b_.create<arith::ConstantOp>(loc_, identityOf(combine, element));
  if (lanes == 0) return scalar;
  return b_.create<vector::BroadcastOp>(loc_, VectorType::get({lanes}, element), scalar);
}

Value CpuKernelBuilder::combineValues(Combine combine, Value a, Value b) {
  Body body = this->body();
  switch (combine) {
    case Combine::sum: return body.add(a, b);
    case Combine::product: return body.mul(a, b);
    case Combine::max: return body.max(a, b);
    case Combine::min: return body.min(a, b);
  }
  return {};
}

// The fixed tree: halves are combined until one lane is left.
Value CpuKernelBuilder::horizontal(Combine combine, Value vector) {
  int64_t lanes = cast<VectorType>(vector.getType()).getNumElements();
  while (lanes > 1) {
    lanes /= 2;
    Value low = b_.create<vector::ExtractStridedSliceOp>(loc_, vector, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{lanes}, ArrayRef<int64_t>{1});
    Value high = b_.create<vector::ExtractStridedSliceOp>(loc_, vector, ArrayRef<int64_t>{lanes}, ArrayRef<int64_t>{lanes}, ArrayRef<int64_t>{1});
    vector = combineValues(combine, low, high);
  }
  return b_.create<vector::ExtractOp>(loc_, vector, ArrayRef<int64_t>{0});
}

// What types `body` gives: it is run once into a block that is thrown away.
SmallVector<Type> CpuKernelBuilder::elementTypesOf(ArrayRef<Range> ranges, const ReduceFn& body) {
  OpBuilder::InsertionGuard guard(b_);
  Block scratch;
  b_.setInsertionPointToStart(&scratch);
  auto memo = memo_;
  size_t loops = loops_.size();
  Indices at;
  for (size_t i = 0; i < ranges.size(); ++i) at.push_back(newLoop(constant(0), -1));
  SmallVector<Type> types;
  for (Value value : body(at)) types.push_back(value.getType());
  memo_ = std::move(memo);
  loops_.resize(loops);
  scratch.dropAllDefinedValueUses();
  return types;
}

SmallVector<Value> CpuKernelBuilder::foldNest(ValueRange init, ArrayRef<Range> ranges, Indices& at, const FoldFn& body) {
  if (ranges.empty()) return body(at, init);
  const Range& range = ranges.front();
  auto next = [&](Index index, ValueRange state) {
    at.push_back(index);
    SmallVector<Value> result = foldNest(state, ranges.drop_front(), at, body);
    at.pop_back();
    return result;
  };
  if (!range.lo && !range.extent.isBatch() && range.extent.size <= kUnroll) {
    SmallVector<Value> state(init);
    for (int64_t i = 0; i < range.extent.size; ++i) state = next(Index(i), state);
    return state;
  }
  Value lo = constant(0), hi;
  if (range.lo) {
    lo = b_.create<arith::IndexCastOp>(loc_, b_.getI64Type(), range.lo);
    hi = b_.create<arith::IndexCastOp>(loc_, b_.getI64Type(), range.hi);
  } else {
    hi = extentValue(range.extent);
  }
  return loop(lo, hi, 1, init, [&](Value counter, ValueRange state) { return next(newLoop(counter, range.lo ? -1 : range.extent.size), state); });
}

SmallVector<Value> CpuKernelBuilder::fold(ValueRange init, ArrayRef<Range> ranges, const FoldFn& body) {
  SmallVector<Value> state(init);
  if (vector_)
    for (Value& value : state)
      if (!isa<VectorType>(value.getType())) value = b_.create<vector::BroadcastOp>(loc_, VectorType::get({vector_}, value.getType()), value);
  Indices at;
  return foldNest(state, ranges, at, [&](At inner, ValueRange s) {
    SmallVector<Value> next = body(inner, s);
    for (auto [value, old] : llvm::zip(next, s)) value = this->body().splatLike(value, old);
    return next;
  });
}

SmallVector<Value> CpuKernelBuilder::reduce(ArrayRef<Combine> combine, ArrayRef<Range> ranges, const ReduceFn& body) {
  if (!vector_ && !ranges.empty() && !ranges.back().lo) return reduceVector(combine, ranges, body);
  SmallVector<Value> init;
  for (auto [c, type] : llvm::zip(combine, elementTypesOf(ranges, body)))
    init.push_back(identity(c, getElementTypeOrSelf(type), vector_));
  return fold(init, ranges, [&](At at, ValueRange state) {
    SmallVector<Value> values = body(at);
    for (size_t i = 0; i < values.size(); ++i) values[i] = combineValues(combine[i], state[i], values[i]);
    return values;
  });
}

Value CpuKernelBuilder::carriedAccumulators(Combine combine, Type element) {
  carriedFrom_ = identityOf(combine, element);
  return b_.create<LLVM::LoadOp>(loc_, VectorType::get({lanes_}, element), pointers_[carried_], elementBytes(element));
}

// `accumulator` with `value` combined into lane number `lane`.
Value CpuKernelBuilder::combineLane(Combine combine, Value accumulator, Value value, Value lane) {
  int64_t lanes = cast<VectorType>(accumulator.getType()).getNumElements();
  auto places = VectorType::get({lanes}, b_.getI32Type());
  SmallVector<int32_t> numbers(lanes);
  for (int64_t i = 0; i < lanes; ++i) numbers[i] = i;
  Value all = b_.create<arith::ConstantOp>(loc_, DenseElementsAttr::get(places, ArrayRef<int32_t>(numbers)));
  Value here = b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::eq, all, b_.create<vector::BroadcastOp>(loc_, places, lane));
  Value spread = b_.create<vector::BroadcastOp>(loc_, accumulator.getType(), value);
  return b_.create<arith::SelectOp>(loc_, here, combineValues(combine, accumulator, spread), accumulator);
}

// The chunks [0, count) of a long run, a block of kBlockChunks after another. The first goes on from `state`, so that a run of one block is what it
// is without blocks.
SmallVector<Value> CpuKernelBuilder::reduceBlocks(ArrayRef<Combine> combine, Value count, SmallVector<Value> state, const LoopFn& chunk) {
  auto isLong = [&](size_t i) { return combine[i] == Combine::sum && getElementTypeOrSelf(state[i].getType()).isF32(); };
  auto narrow = cast<VectorType>(state[0].getType());
  auto wide = VectorType::get(narrow.getShape(), b_.getF64Type());
  auto blockEnd = [&](Value first) {
    return b_.create<arith::MinSIOp>(loc_, count, b_.create<arith::AddIOp>(loc_, first, constant(kBlockChunks)));
  };
  state = loop(constant(0), blockEnd(constant(0)), 1, state, chunk);
  SmallVector<Value> totals = state;
  for (size_t i = 0; i < state.size(); ++i)
    if (isLong(i)) totals[i] = b_.create<arith::ExtFOp>(loc_, wide, state[i]);
  totals = loop(constant(kBlockChunks), count, kBlockChunks, totals, [&](Value first, ValueRange before) {
    SmallVector<Value> inner(before);
    for (size_t i = 0; i < inner.size(); ++i)
      if (isLong(i)) inner[i] = identity(combine[i], b_.getF32Type(), narrow.getNumElements());
    inner = loop(first, blockEnd(first), 1, inner, chunk);
    for (size_t i = 0; i < inner.size(); ++i)
      if (isLong(i)) inner[i] = b_.create<arith::AddFOp>(loc_, before[i], b_.create<arith::ExtFOp>(loc_, wide, inner[i]));
    return inner;
  });
  for (size_t i = 0; i < state.size(); ++i) state[i] = isLong(i) ? Value(b_.create<arith::TruncFOp>(loc_, narrow, totals[i])) : totals[i];
  return state;
}

// One vector accumulator each. Element i of the last range goes to lane i mod lanes, whether the extent is static or known at run time
// only; a short static extent needs no more lanes than its elements, since the others would add nothing to the tree. Long sums: reduceBlocks.
SmallVector<Value> CpuKernelBuilder::reduceVector(ArrayRef<Combine> combine, ArrayRef<Range> ranges, const ReduceFn& body) {
  Extent last = ranges.back().extent;
  size_t count = combine.size();
  int64_t accumulatorLanes = last.isBatch() ? lanes_ : std::min<int64_t>(lanes_, llvm::PowerOf2Ceil(last.size));
  SmallVector<Type> elements;
  for (Type type : elementTypesOf(ranges, body)) elements.push_back(getElementTypeOrSelf(type));
  SmallVector<Value> init;
  for (auto [c, element] : llvm::zip(combine, elements))
    init.push_back(carried_ >= 0 ? carriedAccumulators(c, element) : identity(c, element, accumulatorLanes));

  auto valuesAt = [&](At outer, Index base, int64_t lanes) {
    Indices at(outer);
    at.push_back(base + beginLanes(lanes));
    SmallVector<Value> values = body(at);
    endLanes();
    for (Value& value : values)
      if (!isa<VectorType>(value.getType())) value = b_.create<vector::BroadcastOp>(loc_, VectorType::get({lanes}, value.getType()), value);
    return values;
  };
  // Combines the values at `base` + lane into the state.
  auto step = [&](At outer, Index base, int64_t lanes, SmallVector<Value> state) {
    SmallVector<Value> values = valuesAt(outer, base, lanes);
    for (size_t i = 0; i < count; ++i) {
      Value value = values[i];
      if (accumulatorLanes != lanes)
        value = b_.create<vector::InsertStridedSliceOp>(loc_, value, identity(combine[i], elements[i], accumulatorLanes), ArrayRef<int64_t>{0}, ArrayRef<int64_t>{1});
      state[i] = combineValues(combine[i], state[i], value);
    }
    return state;
  };
  auto stepOne = [&](At outer, Value element, Value whole, SmallVector<Value> state) {
    SmallVector<Value> values = valuesAt(outer, newLoop(element, last.size), 1);
    Value lane = b_.create<arith::TruncIOp>(loc_, b_.getI32Type(), b_.create<arith::SubIOp>(loc_, element, whole));
    for (size_t i = 0; i < count; ++i)
      state[i] = combineLane(combine[i], state[i], b_.create<vector::ExtractOp>(loc_, values[i], ArrayRef<int64_t>{0}), lane);
    return state;
  };

  Indices at;
  SmallVector<Value> state = foldNest(init, ranges.drop_back(), at, [&](At outer, ValueRange before) {
    SmallVector<Value> state(before);
    Value total = extentValue(last);
    Value chunkCount = b_.create<arith::DivUIOp>(loc_, total, constant(lanes_));
    int64_t chunks = last.size / lanes_;
    auto chunkStep = [&](Value chunk, ValueRange s) { return step(outer, newLoop(chunk, chunks + 1) * lanes_, lanes_, SmallVector<Value>(s)); };
    if (chunks > kBlockChunks)
      state = reduceBlocks(combine, chunkCount, state, chunkStep);
    else if (last.isBatch() || chunks > 1)
      state = loop(constant(0), chunkCount, 1, state, chunkStep);
    else if (chunks == 1)
      state = step(outer, Index(0), lanes_, state);
    if (last.isBatch()) {
      Value whole = b_.create<arith::MulIOp>(loc_, chunkCount, constant(lanes_));
      state = loop(whole, total, 1, state, [&](Value element, ValueRange s) { return stepOne(outer, element, whole, SmallVector<Value>(s)); });
    } else if (last.size % lanes_ != 0) {
      state = step(outer, Index(chunks * lanes_), last.size % lanes_, state);
    }
    return state;
  });
  SmallVector<Value> results;
  for (size_t i = 0; i < count; ++i) {
    if (carried_ >= 0) b_.create<LLVM::StoreOp>(loc_, state[i], pointers_[carried_], elementBytes(elements[i]));
    results.push_back(horizontal(combine[i], state[i]));
  }
  return results;
}

}  // namespace mxc::codegen
