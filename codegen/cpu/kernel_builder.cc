// Functions, grids and loops of the CPU's KernelBuilder. Memory is in kernel_memory.cc.
#include "codegen/cpu/kernel_builder.h"

#include <limits>

#include "codegen/cpu/contract.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace mxc::codegen {
namespace {

// Static inner loops up to this count are written out.
constexpr int64_t kUnroll = 5;

bool isElementwise(Operation* op) { return isa<mx::ElementwiseRules>(op); }

}  // namespace

int64_t lanesOf(mx::KernelOp kernel) {
  SmallVector<Type> types(kernel->getOperandTypes());
  llvm::append_range(types, kernel->getResultTypes());
  int64_t widest = 4;
  for (Type type : types)
    if (Type element = elementType(type); isa<FloatType>(element)) widest = std::max(widest, elementBytes(element));
  return 64 / widest;
}

CpuKernelBuilder::CpuKernelBuilder(ModuleOp kernels, mx::KernelOp kernel, std::string name, int64_t lanes, VectorUnit unit)
    : kernels_(kernels), kernel_(kernel), name_(std::move(name)), lanes_(lanes), unit_(unit), loc_(kernel.getLoc()), b_(kernels.getContext()) {
  Block& block = kernel_.getBody().front();
  for (BlockArgument argument : block.getArguments()) slots_[argument] = argument.getArgNumber();
  unsigned slot = block.getNumArguments();
  for (Value value : block.getTerminator()->getOperands()) yields_.push_back({value, slot++});
  for (Operation& op : block.without_terminator())
    if (!isElementwise(&op)) anchor_ = &op;
}

FailureOr<std::vector<KernelInfo>> CpuKernelBuilder::run() {
  if (!anchor_) {
    if (failed(lowerElementwiseKernel())) return failure();
    return std::move(infos_);
  }
  loc_ = anchor_->getLoc();
  if (failed(cast<mx::OpRules>(anchor_).lower(*this))) return anchor_->emitOpError() << "has no CPU kernel for these operands";
  return std::move(infos_);
}

Body CpuKernelBuilder::body() { return Body(b_, loc_, n_); }

Value CpuKernelBuilder::constant(int64_t value) {
  return b_.create<arith::ConstantOp>(loc_, b_.getI64IntegerAttr(value));
}

// ---- Functions and grids ------------------------------------------------------------------------------------------------------

void CpuKernelBuilder::openFunction() {
  loops_.clear();
  memo_.clear();
  pointers_.clear();
  flops_ = 0;
  b_.setInsertionPointToEnd(kernels_.getBody());
  Type pointer = LLVM::LLVMPointerType::get(b_.getContext()), i64 = b_.getI64Type();
  std::string symbol = name_ + (infos_.empty() ? "" : "." + std::to_string(infos_.size()));
  function_ = b_.create<func::FuncOp>(loc_, symbol, b_.getFunctionType({pointer, i64, i64, i64}, {}));
  Block* entry = function_.addEntryBlock();
  b_.setInsertionPointToStart(entry);
  n_ = entry->getArgument(1);
  begin_ = entry->getArgument(2);
  end_ = entry->getArgument(3);
  for (unsigned slot = 0; slot < slots_.size() + yields_.size(); ++slot) {
    Value place = b_.create<LLVM::GEPOp>(loc_, pointer, pointer, entry->getArgument(0), ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(slot)});
    pointers_.push_back(b_.create<LLVM::LoadOp>(loc_, pointer, place));
  }
}

void CpuKernelBuilder::closeFunction(int64_t cells, int64_t batchUnit, int64_t batchTile) {
  b_.create<func::ReturnOp>(loc_);
  infos_.push_back({function_.getSymName().str(), cells, batchUnit, batchTile, flops_, carriedFrom_});
}

Value CpuKernelBuilder::extentValue(Extent extent) {
  if (!extent.isBatch()) return constant(extent.size);
  return extent.batchUnit == 1 ? n_ : b_.create<arith::MulIOp>(loc_, n_, constant(extent.batchUnit)).getResult();
}

void CpuKernelBuilder::grid(ArrayRef<Extent> extents, int64_t batchTile, const EachFn& body) {
  openFunction();
  int64_t cells = 1, batchUnit = 0;
  for (Extent e : extents) (e.isBatch() ? batchUnit : cells) = e.isBatch() ? e.batchUnit : cells * e.size;
  loop(begin_, end_, 1, {}, [&](Value cell, ValueRange) -> SmallVector<Value> {
    SmallVector<Value> counters(extents.size());
    int64_t outermost = 0;
    while (outermost < static_cast<int64_t>(extents.size()) && !extents[outermost].isBatch() && extents[outermost].size == 1) ++outermost;
    Value rest = cell;
    for (int64_t i = extents.size() - 1; i >= 0; --i) {
      Extent e = extents[i];
      if (!e.isBatch() && e.size == 1) continue;
      if (i == outermost) {
        counters[i] = rest;
        continue;
      }
      Value count = extentValue(e);
      if (e.isBatch() && batchTile > 1)
        count = b_.create<arith::DivUIOp>(loc_, b_.create<arith::AddIOp>(loc_, count, constant(batchTile - 1)), constant(batchTile));
      counters[i] = b_.create<arith::RemUIOp>(loc_, rest, count);
      rest = b_.create<arith::DivUIOp>(loc_, rest, count);
    }
    Indices at;
    for (auto [counter, e] : llvm::zip(counters, extents))
      at.push_back(counter ? newLoop(counter, e.isBatch() ? (e.size + batchTile - 1) / batchTile : e.size) : Index(0));
    newPoint();
    body(at);
    return {};
  });
  closeFunction(cells, batchUnit, batchTile);
}

Index CpuKernelBuilder::newLoop(Value value, int64_t size) {
  Index index;
  index.terms.push_back({static_cast<int>(loops_.size()), 1});
  loops_.push_back({value, size});
  return index;
}

Index CpuKernelBuilder::beginLanes(int64_t lanes) {
  assert(laneLoop_ < 0);
  Index index = newLoop(Value(), lanes);
  laneLoop_ = index.terms[0].loop;
  vector_ = lanes;
  return index;
}

void CpuKernelBuilder::endLanes() {
  laneLoop_ = -1;
  vector_ = 0;
}

// ---- Loops --------------------------------------------------------------------------------------------------------------------

SmallVector<Value> CpuKernelBuilder::loop(Value lo, Value hi, int64_t step, ValueRange init, const LoopFn& body) {
  auto loop = b_.create<scf::ForOp>(loc_, lo, hi, constant(step), init);
  OpBuilder::InsertionGuard guard(b_);
  Block* block = loop.getBody();
  if (init.empty()) {
    b_.setInsertionPoint(block->getTerminator());
    body(loop.getInductionVar(), {});
  } else {
    b_.setInsertionPointToEnd(block);
    SmallVector<Value> next = body(loop.getInductionVar(), loop.getRegionIterArgs());
    b_.create<scf::YieldOp>(loc_, next);
  }
  return SmallVector<Value>(loop.getResults());
}

void CpuKernelBuilder::nest(ArrayRef<Extent> extents, SmallVectorImpl<Index>& at, const std::function<void()>& body) {
  if (extents.empty()) return body();
  Extent e = extents.front();
  if (!e.isBatch() && e.size == 1) {
    at.push_back(Index(0));
    nest(extents.drop_front(), at, body);
    at.pop_back();
    return;
  }
  loop(constant(0), extentValue(e), 1, {}, [&](Value counter, ValueRange) -> SmallVector<Value> {
    at.push_back(newLoop(counter, e.size));
    nest(extents.drop_front(), at, body);
    at.pop_back();
    return {};
  });
}

void CpuKernelBuilder::vectorAt(Index base, int64_t lanes, const std::function<void(Index)>& body) {
  Index lane = beginLanes(lanes);
  newPoint();
  body(base + lane);
  endLanes();
}

void CpuKernelBuilder::vectorLoop(Extent extent, const std::function<void(Index)>& body) {
  if (extent.isBatch()) return vectorRange(Index(0), extentValue(extent), extent.size, body);
  int64_t whole = extent.size / lanes_, tail = extent.size % lanes_;
  if (whole == 1) {
    vectorAt(Index(0), lanes_, body);
  } else if (whole > 1) {
    loop(constant(0), constant(whole), 1, {}, [&](Value chunk, ValueRange) -> SmallVector<Value> {
      vectorAt(newLoop(chunk, whole) * lanes_, lanes_, body);
      return {};
    });
  }
  if (tail > 0) vectorAt(Index(whole * lanes_), tail, body);
}

void CpuKernelBuilder::vectorRange(Index base, Value count, int64_t bound, const std::function<void(Index)>& body) {
  Value whole = b_.create<arith::DivUIOp>(loc_, count, constant(lanes_));
  loop(constant(0), whole, 1, {}, [&](Value chunk, ValueRange) -> SmallVector<Value> {
    vectorAt(base + newLoop(chunk, bound / lanes_ + 1) * lanes_, lanes_, body);
    return {};
  });
  loop(b_.create<arith::MulIOp>(loc_, whole, constant(lanes_)), count, 1, {}, [&](Value element, ValueRange) -> SmallVector<Value> {
    vectorAt(base + newLoop(element, bound), 1, body);
    return {};
  });
}

void CpuKernelBuilder::batchCells(Extent all, const std::function<void(Index)>& body) {
  if (all.size <= kCellElements) return grid({}, 1, [&](At) { vectorLoop(all, body); });
  grid({all}, kCellElements, [&](At at) {
    Index start = at[0] * kCellElements;
    Value rest = b_.create<arith::SubIOp>(loc_, extentValue(all), valueOf(start));
    vectorRange(start, b_.create<arith::MinUIOp>(loc_, rest, constant(kCellElements)), kCellElements, body);
  });
}

void CpuKernelBuilder::rows(ArrayRef<Extent> extents, const EachFn& body) { grid(extents, 1, body); }

void CpuKernelBuilder::each(ArrayRef<Extent> extents, const EachFn& body) {
  Indices at;
  if (vector_ || extents.empty()) {
    nest(extents, at, [&] {
      newPoint();
      body(at);
    });
    return;
  }
  nest(extents.drop_back(), at, [&] {
    vectorLoop(extents.back(), [&](Index last) {
      Indices all = at;
      all.push_back(last);
      body(all);
    });
  });
}

void CpuKernelBuilder::forall(Value result, const EachFn& body, ArrayRef<int64_t> scalarAxes) {
  TensorType type = rankedType(result);
  Layout layout = layoutOf(type);
  int64_t rank = type.getRank(), v = layout.innermost();
  if (v >= 0 && (llvm::is_contained(scalarAxes, v) || type.getDimSize(v) == 1)) v = -1;
  bool blocked = v >= 0 && v == layout.blockAxis;

  if (v >= 0 && !blocked && rank == 1 && batchAxis(type) == v)
    return batchCells(extentOf(type, v), [&](Index i) { body(At(i)); });

  // Loops outside the vectors: logical axes, the blocked one counting blocks.
  SmallVector<int64_t> axes;
  SmallVector<Extent> extents;
  for (int64_t axis : layout.order) {
    if (axis == v && !blocked) continue;
    axes.push_back(axis);
    extents.push_back(axis == v ? Extent{(type.getDimSize(axis) + layout.block - 1) / layout.block, 0} : extentOf(type, axis));
  }
  int64_t inner = blocked ? layout.block : v >= 0 ? type.getDimSize(v) : 1;
  size_t split = extents.size();
  while (split > 0 && !extents[split - 1].isBatch() && inner * extents[split - 1].size <= kCellElements) inner *= extents[--split].size;

  grid(ArrayRef(extents).take_front(split), 1, [&](At outer) {
    Indices counters(outer);
    nest(ArrayRef(extents).drop_front(split), counters, [&] {
      Indices at(rank);
      for (auto [axis, counter] : llvm::zip(axes, counters)) at[axis] = counter;
      if (v < 0) {
        Index lane = beginLanes(1);
        newPoint();
        body(at);
        endLanes();
        return;
      }
      if (!blocked) {
        vectorLoop(extentOf(type, v), [&](Index i) {
          at[v] = i;
          body(at);
        });
        return;
      }
      Index block = at[v];
      int64_t blocks = (type.getDimSize(v) + layout.block - 1) / layout.block, tail = type.getDimSize(v) % layout.block;
      auto inBlock = [&](Index which, int64_t size) {
        vectorLoop({size, 0}, [&](Index i) {
          at[v] = which * layout.block + i;
          body(at);
        });
      };
      if (tail == 0) return inBlock(block, layout.block);
      if (blocks == 1) return inBlock(Index(0), tail);
      Value isLast = b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::eq, valueOf(block), constant(blocks - 1));
      auto branch = b_.create<scf::IfOp>(loc_, isLast, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPoint(branch.thenBlock()->getTerminator());
      inBlock(Index(blocks - 1), tail);
      b_.setInsertionPoint(branch.elseBlock()->getTerminator());
      inBlock(block, layout.block);
    });
  });
}

// ---- Reductions ---------------------------------------------------------------------------------------------------------------

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

  Indices at;
  SmallVector<Value> state = foldNest(init, ranges.drop_back(), at, [&](At outer, ValueRange before) {
    SmallVector<Value> state(before);
    Value total = extentValue(last);
    Value chunkCount = b_.create<arith::DivUIOp>(loc_, total, constant(lanes_));
    int64_t chunks = last.size / lanes_;
    if (last.isBatch() || chunks > 1)
      state = loop(constant(0), chunkCount, 1, state, [&](Value chunk, ValueRange s) {
        return step(outer, newLoop(chunk, chunks + 1) * lanes_, lanes_, SmallVector<Value>(s));
      });
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

// ---- Contractions ---------------------------------------------------------------------------------------------------------------

void CpuKernelBuilder::contract(const Contract& c) {
  if (!emitContract(*this, c)) contractGeneric(c);
}

// Any contraction: one vector of sums at a time.
void CpuKernelBuilder::contractGeneric(const Contract& c) {
  SmallVector<Extent> outer(c.parallel);
  Extent vectorExtent = outer[c.vector];
  outer.erase(outer.begin() + c.vector);
  Type element = rankedType(c.result).getElementType();
  SmallVector<Range> ranges(c.reduction.begin(), c.reduction.end());
  grid(outer, 1, [&](At counters) {
    vectorLoop(vectorExtent, [&](Index v) {
      Indices p(counters);
      p.insert(p.begin() + c.vector, v);
      Value sum = fold({identity(Combine::sum, element, vector_)}, ranges, [&](At r, ValueRange state) {
        Value a = loadOr(c.lhs, c.lhsAt(p, r), 0), b = load(c.rhs, c.rhsAt(p, r));
        return SmallVector<Value>{body().fma(a, b, state[0])};
      })[0];
      if (c.epilogue) sum = c.epilogue(p, sum);
      store(c.result, c.resultAt(p), sum);
    });
  });
}

}  // namespace mxc::codegen
