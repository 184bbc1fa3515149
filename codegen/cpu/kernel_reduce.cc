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
  auto step = [&](At at, ValueRange state) {
    SmallVector<Value> values = body(at);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = this->body().splatLike(combineValues(combine[i], state[i], values[i]), state[i]);
    return values;
  };
  Indices none;
  if (!vector_ || ranges.empty() || ranges.back().lo) return foldNest(init, ranges, none, step);
  const Range& last = ranges.back();
  auto size = [&] { return extentValue(last.extent); };
  Run run{last.extent.isBatch() ? -1 : last.extent.size, size, size};
  run.body = [&](At outer, Part part, ValueRange state) {
    Indices at(outer);
    if (part.whole()) return foldNest(state, {last}, at, step);
    return loop(part.lo, part.hi, 1, state, [&](Value counter, ValueRange s) {
      Indices inner(outer);
      inner.push_back(newLoop(counter, last.extent.size));
      return step(inner, s);
    });
  };
  return reduceBlocks(combine, ranges.drop_back(), run, init);
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

// One vector accumulator each. Element i of the last range goes to lane i mod lanes, whether the extent is static or known at run time
// only; a short static extent needs no more lanes than its elements, since the others would add nothing to the tree.
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

  int64_t chunks = last.size / lanes_;
  auto stepsOf = [&](int64_t more) -> Value {
    Value elements = b_.create<arith::AddIOp>(loc_, extentValue(last), constant(more));
    return b_.create<arith::DivUIOp>(loc_, elements, constant(lanes_));
  };
  Run run{last.isBatch() ? -1 : (last.size + lanes_ - 1) / lanes_, [&] { return stepsOf(lanes_ - 1); }, [&] { return stepsOf(0); }};
  run.narrowEnd = last.isBatch() || last.size % lanes_ != 0;
  run.body = [&](At outer, Part part, ValueRange before) {
    SmallVector<Value> state(before);
    if (!part.whole() || last.isBatch() || chunks > 1)
      state = loop(part.whole() ? constant(0) : part.lo, part.whole() ? run.wholeSteps() : part.hi, 1, state, [&](Value chunk, ValueRange s) {
        return step(outer, newLoop(chunk, chunks + 1) * lanes_, lanes_, SmallVector<Value>(s));
      });
    else if (chunks == 1)
      state = step(outer, Index(0), lanes_, state);
    if (!part.toEnd || !run.narrowEnd) return state;
    if (!last.isBatch()) return step(outer, Index(chunks * lanes_), last.size % lanes_, state);
    Value total = extentValue(last), whole = b_.create<arith::MulIOp>(loc_, run.wholeSteps(), constant(lanes_));
    return loop(whole, total, 1, state, [&](Value element, ValueRange s) { return stepOne(outer, element, whole, SmallVector<Value>(s)); });
  };
  SmallVector<Value> state = carried_ >= 0 ? run.body({}, {}, init) : reduceBlocks(combine, ranges.drop_back(), run, init);
  SmallVector<Value> results;
  for (size_t i = 0; i < count; ++i) {
    if (carried_ >= 0) b_.create<LLVM::StoreOp>(loc_, state[i], pointers_[carried_], elementBytes(elements[i]));
    results.push_back(horizontal(combine[i], state[i]));
  }
  return results;
}

}  // namespace mxc::codegen
