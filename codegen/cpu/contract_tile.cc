// Reduction loops of a tile: small static ones are written out, the others are loops that carry the sums.
#include "codegen/cpu/contract_tile.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace mxc::codegen {
namespace {

constexpr int64_t kWrittenOut = 32;  // steps that may be written out one after another

struct Interval {
  int64_t lo, hi;
};
// The values of `place` with the rows' places as they are and each loop of `ranges` in its interval.
Interval valuesOf(const Index& place, const std::function<Interval(int loop)>& range) {
  Interval values{place.constant, place.constant};
  for (Index::Term t : place.terms) {
    Interval r = range(t.loop);
    values.lo += t.coeff * (t.coeff > 0 ? r.lo : r.hi);
    values.hi += t.coeff * (t.coeff > 0 ? r.hi : r.lo);
  }
  return values;
}

}  // namespace

bool atBorder(const ContractPlan& plan, int64_t at, int64_t rows) {
  TensorType type = rankedType(plan.c.lhs);
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    if (plan.border[axis] != Border::fixed) continue;
    Interval values = valuesOf(plan.lhs[axis], [&](int loop) {
      return loop == plan.tile ? Interval{at, at + rows - 1} : Interval{0, plan.extent(loop).size - 1};
    });
    if (values.lo < 0 || values.hi >= type.getDimSize(axis)) return true;
  }
  return false;
}

TileReducer::TileReducer(CpuKernelBuilder& k, const ContractPlan& plan, int64_t lanes, const TileRows& tile, ArrayRef<ReductionBound> bounds)
    : k_(k), plan_(plan), b_(k.builder()), loc_(k.loc()), lanes_(lanes), tile_(tile), bounds_(bounds),
      element_(rankedType(plan.c.result).getElementType()) {}

SmallVector<Value> TileReducer::run(SmallVector<Value> sums) {
  r_.assign(plan_.c.reduction.size(), Index(0));
  return level(0, std::move(sums));
}

// ---- Loops --------------------------------------------------------------------------------------------------------------------

SmallVector<Value> TileReducer::level(int j, Sums sums) {
  if (j == static_cast<int>(plan_.c.reduction.size())) return step(std::move(sums));
  if (bounds_[j].fixed) {
    r_[j] = *bounds_[j].fixed;
    return level(j + 1, std::move(sums));
  }
  Extent e = plan_.c.reduction[j];
  if (plan_.dynamicBounds(j)) {
    Value lo = bounds_[j].lo ? bounds_[j].lo : k_.constant(0), hi = bounds_[j].hi ? bounds_[j].hi : k_.extentValue(e);
    bool clipped = llvm::is_contained(plan_.clippedBy, j);
    if (clipped) std::tie(lo, hi) = clip(j, lo, hi);
    return dynamicLoop(j, lo, hi, std::nullopt, !clipped, std::move(sums));
  }
  if (!tile_.border) return staticRange(j, 0, e.size, std::move(sums));
  auto [first, end] = interior(j);
  sums = unrolled(j, 0, first, std::move(sums));
  sums = staticRange(j, first, end, std::move(sums));
  return unrolled(j, end, e.size, std::move(sums));
}

// The values [first, end) of loop `j` for which no row leaves lhs along an axis with a fixed border that depends on `j`, whatever the
// loops inside.
std::pair<int64_t, int64_t> TileReducer::interior(int j) const {
  TensorType type = rankedType(plan_.c.lhs);
  int64_t size = plan_.c.reduction[j].size, first = 0, end = size;
  int loop = plan_.parallelCount() + j;
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    if (plan_.border[axis] != Border::fixed || coefficient(plan_.lhs[axis], loop) == 0) continue;
    auto isInside = [&](int64_t value) {
      return llvm::all_of(tile_.rows, [&](const TileRow& row) {
        Interval values = valuesOf(plan_.lhs[axis], [&](int l) {
          if (l == loop) return Interval{value, value};
          if (l < plan_.parallelCount()) return Interval{row.place[l].constant, row.place[l].constant};
          int inner = l - plan_.parallelCount();
          if (inner < j && r_[inner].isConstant()) return Interval{r_[inner].constant, r_[inner].constant};
          return Interval{0, plan_.c.reduction[inner].size - 1};
        });
        return values.lo >= 0 && values.hi < type.getDimSize(axis);
      });
    };
    while (first < end && !isInside(first)) ++first;
    int64_t stop = first;
    while (stop < end && isInside(stop)) ++stop;
    end = stop;
  }
  return {first, end};
}

// The steps of the loops inside `j`, all written out; 0 if one of them is a loop.
int64_t TileReducer::stepsBelow(int j) const {
  int64_t steps = 1;
  for (int i = static_cast<int>(plan_.c.reduction.size()) - 1; i > j; --i) {
    if (plan_.dynamicBounds(i) || steps * plan_.c.reduction[i].size > kWrittenOut) return 0;
    steps *= plan_.c.reduction[i].size;
  }
  return steps;
}

SmallVector<Value> TileReducer::staticRange(int j, int64_t lo, int64_t hi, Sums sums) {
  int64_t below = stepsBelow(j);
  if (lo == hi) return sums;
  if (hi - lo == 1 || (below > 0 && below * (hi - lo) <= kWrittenOut)) return unrolled(j, lo, hi, std::move(sums));
  return dynamicLoop(j, k_.constant(lo), k_.constant(hi), hi - lo, lo == 0, std::move(sums));
}

SmallVector<Value> TileReducer::unrolled(int j, int64_t lo, int64_t hi, Sums sums) {
  for (int64_t i = lo; i < hi; ++i) {
    r_[j] = Index(i);
    sums = level(j + 1, std::move(sums));
  }
  return sums;
}

// for (i = lo; i < hi; ++i), several steps at once where a step is small. `aligned`: lo is a multiple of any small power of two.
SmallVector<Value> TileReducer::dynamicLoop(int j, Value lo, Value hi, std::optional<int64_t> count, bool aligned, Sums sums) {
  int64_t below = stepsBelow(j), together = below == 1 ? 4 : below == 2 ? 2 : 1;
  int64_t size = plan_.c.reduction[j].size;
  auto run = [&](Value from, Value to, int64_t step, Sums before) {
    std::optional<Anchor> outer = std::move(anchor_);
    int64_t outerAlignment = alignment_;
    Sums after = k_.loop(from, to, step, before, [&](Value counter, ValueRange state) -> SmallVector<Value> {
      anchor_.reset();
      alignment_ = aligned ? step : 1;
      Index index = k_.newLoop(counter, size);
      Sums inner(state);
      for (int64_t i = 0; i < step; ++i) {
        r_[j] = index + Index(i);
        inner = level(j + 1, std::move(inner));
      }
      return inner;
    });
    anchor_ = std::move(outer);
    alignment_ = outerAlignment;
    return after;
  };
  if (together == 1) return run(lo, hi, 1, std::move(sums));
  if (count && *count % together == 0) return run(lo, hi, together, std::move(sums));
  Value left = b_.create<arith::RemUIOp>(loc_, b_.create<arith::SubIOp>(loc_, hi, lo), k_.constant(together));
  Value middle = b_.create<arith::SubIOp>(loc_, hi, left);
  sums = run(lo, middle, together, std::move(sums));
  return run(middle, hi, 1, std::move(sums));
}

// [lo, hi) without the steps that lie outside along the axis that loop `j` clips: 0 <= base + coeff * i < size.
std::pair<Value, Value> TileReducer::clip(int j, Value lo, Value hi) {
  int64_t axis = 0;
  while (plan_.clippedBy[axis] != j) ++axis;
  int64_t coeff = coefficient(plan_.lhs[axis], plan_.parallelCount() + j), size = rankedType(plan_.c.lhs).getDimSize(axis);
  Indices r = r_;
  r[j] = Index(0);
  Index base = plan_.c.lhsAt(tile_.rows.front().place, r)[axis];
  int64_t s = std::abs(coeff);
  // max(0, value) / s; what is divided is not negative, so that the division rounds down.
  auto floorOf = [&](const Index& value) {
    Value positive = b_.create<arith::MaxSIOp>(loc_, k_.valueOf(value), k_.constant(0));
    return s == 1 ? positive : b_.create<arith::DivUIOp>(loc_, positive, k_.constant(s)).getResult();
  };
  Value first, end;
  if (coeff > 0) {
    first = floorOf(base * -1 + Index(s - 1));
    end = floorOf(Index(size + s - 1) - base);
  } else {
    first = floorOf(base + Index(s - size));
    end = floorOf(base + Index(s));
  }
  lo = b_.create<arith::MaxSIOp>(loc_, lo, first);
  hi = b_.create<arith::MinSIOp>(loc_, hi, end);
  return {lo, b_.create<arith::MaxSIOp>(loc_, lo, hi)};
}

// ---- Steps --------------------------------------------------------------------------------------------------------------------

bool TileReducer::outside(const Index& place, int64_t axis) const {
  return place.isConstant() && (place.constant < 0 || place.constant >= rankedType(plan_.c.lhs).getDimSize(axis));
}

// The distance in elements between two places of a tensor, if it is a constant.
std::optional<int64_t> TileReducer::distance(Value tensor, const Indices& from, const Indices& to) const {
  Layout layout = layoutOf(rankedType(tensor));
  int64_t elements = 0;
  for (size_t axis = 0; axis < from.size(); ++axis) {
    if (from[axis].opaque != to[axis].opaque) return std::nullopt;
    Index a = from[axis], b = to[axis];
    a.opaque = b.opaque = Value();
    Index difference = b - a;
    if (!difference.isConstant()) return std::nullopt;
    int64_t d = difference.constant;
    if (static_cast<int64_t>(axis) != layout.blockAxis) {
      elements += d * layout.strides[axis];
      continue;
    }
    if (d == 0) continue;
    // Within a block only, which the alignment of the counters must show.
    bool aligned = !from[axis].opaque && d > 0 && d < alignment_ && layout.block % alignment_ == 0 && a.constant % alignment_ == 0;
    int coarse = 0;
    for (Index::Term t : a.terms) coarse += t.coeff % alignment_ != 0 ? 1 : 0;
    if (!aligned || coarse > 1) return std::nullopt;
    elements += d;
  }
  return elements;
}

// From the first row to `row` in lhs. Requires: rows with a common stride.
int64_t TileReducer::rowDistance(size_t row) const {
  Layout layout = layoutOf(rankedType(plan_.c.lhs));
  int64_t elements = 0;
  auto add = [&](int loop) {
    if (loop < 0) return;
    int64_t steps = (tile_.rows[row].place[loop] - tile_.rows[0].place[loop]).constant;
    for (size_t axis = 0; axis < plan_.lhs.size(); ++axis) {
      int64_t stride = static_cast<int64_t>(axis) == layout.blockAxis ? 1 : layout.strides[axis];
      elements += coefficient(plan_.lhs[axis], loop) * steps * stride;
    }
  };
  add(plan_.tile);
  add(plan_.full);
  return elements;
}

Value TileReducer::offset(Value pointer, int64_t elements) {
  if (elements == 0) return pointer;
  return b_.create<LLVM::GEPOp>(loc_, pointer.getType(), element_, pointer, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(elements)});
}

void TileReducer::moveAnchor() {
  Anchor anchor;
  anchor.r = r_;
  anchor.rhs = k_.address(plan_.c.rhs, plan_.c.rhsAt(tile_.rows[0].place, r_));
  size_t count = tile_.independent ? tile_.rows.size() : 1;
  for (size_t i = 0; i < count; ++i) anchor.lhs.push_back(k_.address(plan_.c.lhs, plan_.c.lhsAt(tile_.rows[i].place, r_)));
  anchor_ = std::move(anchor);
}

// One step of the reduction: a vector of rhs, and for each row an element of lhs.
SmallVector<Value> TileReducer::step(Sums sums) {
  const Indices& first = tile_.rows[0].place;
  std::optional<int64_t> rhsOffset, lhsOffset;
  if (anchor_) {
    rhsOffset = distance(plan_.c.rhs, plan_.c.rhsAt(first, anchor_->r), plan_.c.rhsAt(first, r_));
    lhsOffset = distance(plan_.c.lhs, plan_.c.lhsAt(first, anchor_->r), plan_.c.lhsAt(first, r_));
  }
  if (!rhsOffset || !lhsOffset) {
    moveAnchor();
    rhsOffset = lhsOffset = 0;
  }
  auto vector = VectorType::get({lanes_}, element_);
  int64_t bytes = elementBytes(element_);
  Value b;
  for (size_t i = 0; i < tile_.rows.size(); ++i) {
    Indices place = plan_.c.lhsAt(tile_.rows[i].place, r_);
    bool skip = false;
    if (tile_.border)
      for (size_t axis = 0; axis < place.size(); ++axis) skip |= plan_.border[axis] == Border::fixed && outside(place[axis], axis);
    if (skip) continue;
    if (!b) b = b_.create<LLVM::LoadOp>(loc_, vector, offset(anchor_->rhs, *rhsOffset), bytes);
    Value pointer = tile_.independent ? offset(anchor_->lhs[i], *lhsOffset) : offset(anchor_->lhs[0], *lhsOffset + rowDistance(i));
    Value a;
    if (plan_.lhsInVectors) a = b_.create<LLVM::LoadOp>(loc_, vector, pointer, bytes);
    else a = b_.create<vector::BroadcastOp>(loc_, vector, b_.create<LLVM::LoadOp>(loc_, element_, pointer, bytes));
    sums[i] = b_.create<math::FmaOp>(loc_, a, b, sums[i]);
  }
  // Keeps loads of one step from being merged with those of another, which would cost more registers than there are.
  b_.create<LLVM::FenceOp>(loc_, LLVM::AtomicOrdering::acq_rel, "singlethread");
  return sums;
}

}  // namespace mxc::codegen
