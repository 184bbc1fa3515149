// Lookups copy rows. Their gradient is split over columns, never over samples: each sum runs through the samples in order, whatever
// the number of threads.
#include "ir/ops/index.h"

#include <limits>

#include "ir/ops/reduce.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "ir/ops/index.cc.inc"

namespace mxc::mx {

void registerFamily_index(MxDialect& dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "ir/ops/index.cc.inc"
      >();
}

namespace {

FailureOr<TensorType> expectIntegers(Operation* op, unsigned operand) {
  FailureOr<TensorType> type = expectRank(op, operand, -1);
  if (succeeded(type) && !isa<IntegerType>(type->getElementType()))
    return op->emitOpError() << "expects an integer index, got " << type->getElementType();
  return type;
}

// `type` with a last axis of this size more.
TensorType extended(TensorType type, int64_t size, Type element) {
  SmallVector<int64_t> dims(type.getShape());
  dims.push_back(size);
  return tensorType(dims, element, batchAxis(type), std::max<int64_t>(1, batchUnit(type)));
}

SmallVector<Extent> allExtents(TensorType type) {
  SmallVector<Extent> extents;
  for (int64_t axis = 0; axis < type.getRank(); ++axis) extents.push_back(extentOf(type, axis));
  return extents;
}

Indices with(At at, Index last) {
  Indices all(at);
  all.push_back(last);
  return all;
}

// The largest divisor of `size` up to 64: the columns that one row of the gradient's grid owns.
int64_t columnsPerRow(int64_t size) {
  int64_t columns = std::min<int64_t>(size, 64);
  while (size % columns != 0) --columns;
  return columns;
}

}  // namespace

LogicalResult EmbeddingOp::inferTypes() {
  FailureOr<TensorType> index = expectIntegers(*this, 0);
  if (failed(index)) return failure();
  int64_t vocabulary = getVocabulary(), units = getUnits();
  if (vocabulary < 1 || units < 1) return emitOpError() << "needs vocabulary and units >= 1, got " << vocabulary << " and " << units;
  Type element = elementType(getWeight().getType());
  if (failed(setParameter(*this, 1, {vocabulary, units}, element))) return failure();
  return setResult(*this, 0, extended(*index, units, element)), success();
}
LogicalResult EmbeddingOp::buildGradient(GradientBuilder& g) {
  if (g.wants(1))
    g.set(1, g.make<EmbeddingGradOp>({g.dy(), getIndex()}, g.builder.getNamedAttr("vocabulary", g.builder.getI64IntegerAttr(getVocabulary()))));
  return success();
}
LogicalResult EmbeddingOp::lower(KernelBuilder& k) {
  k.rows(allExtents(rankedType(getIndex())), [&](At p) {
    Index row = k.indexFrom(k.load(getIndex(), p), getVocabulary());
    k.each({Extent{static_cast<int64_t>(getUnits()), 0}}, [&](At r) { k.store(getOutput(), with(p, r[0]), k.load(getWeight(), {row, r[0]})); });
  });
  return success();
}
bool EmbeddingOp::canOverwrite(unsigned, unsigned) { return false; }
int64_t EmbeddingOp::upperBound(unsigned operand) { return operand == 0 ? getVocabulary() : 0; }

LogicalResult EmbeddingGradOp::inferTypes() {
  FailureOr<TensorType> dy = expectRank(*this, 0, -1);
  if (failed(dy)) return failure();
  return setResult(*this, 0, tensorType({static_cast<int64_t>(getVocabulary()), dy->getShape().back()}, dy->getElementType())), success();
}
LogicalResult EmbeddingGradOp::buildGradient(GradientBuilder& g) {
  if (!g.wants(0)) return success();
  TensorType weight = rankedType(getOutput());
  g.set(0, g.make<EmbeddingOp>({getIndex(), g.dy()}, {g.builder.getNamedAttr("vocabulary", g.builder.getI64IntegerAttr(weight.getDimSize(0))),
                                                      g.builder.getNamedAttr("units", g.builder.getI64IntegerAttr(weight.getDimSize(1)))}));
  return success();
}
LogicalResult EmbeddingGradOp::lower(KernelBuilder& k) {
  TensorType type = rankedType(getOutput()), index = rankedType(getIndex());
  int64_t units = type.getDimSize(1), columns = columnsPerRow(units);
  k.rows({Extent{units / columns, 0}}, [&](At p) {
    Index first = p[0] * columns;
    k.each({Extent{type.getDimSize(0), 0}, Extent{columns, 0}}, [&](At r) {
      k.store(getOutput(), {r[0], first + r[1]}, k.body().constant(0, type.getElementType()));
    });
    SmallVector<Extent> extents = allExtents(index);
    SmallVector<Range> samples(extents.begin(), extents.end());
    k.fold({}, samples, [&](At sample, ValueRange) {
      Index row = k.indexFrom(k.load(getIndex(), sample), type.getDimSize(0));
      k.each({Extent{columns, 0}}, [&](At r) {
        Index column = first + r[0];
        k.accumulate(getOutput(), {row, column}, k.load(getDy(), with(sample, column)));
      });
      return SmallVector<Value>{};
    });
  });
  return success();
}
bool EmbeddingGradOp::canOverwrite(unsigned, unsigned) { return false; }
int64_t EmbeddingGradOp::upperBound(unsigned operand) { return operand == 1 ? getVocabulary() : 0; }

LogicalResult OneHotOp::inferTypes() {
  FailureOr<TensorType> index = expectIntegers(*this, 0);
  if (failed(index)) return failure();
  int64_t depth = getDepth();
  if (depth < 1) return emitOpError() << "needs a depth >= 1, got " << depth;
  return setResult(*this, 0, extended(*index, depth, getDtype())), success();
}
LogicalResult OneHotOp::buildGradient(GradientBuilder&) { return success(); }
LogicalResult OneHotOp::lower(KernelBuilder& k) {
  Type element = getDtype();
  k.forall(getOutput(), [&](At p) {
    Value index = k.load(getIndex(), p.drop_back()), place = k.position(p.back());
    Body b = k.body();
    Value hit = b.eq(place, b.cast(index, b.builder.getI64Type()));
    k.store(getOutput(), p, b.select(hit, b.constant(1, element), b.constant(0, element)));
  });
  return success();
}
bool OneHotOp::canOverwrite(unsigned, unsigned) { return false; }

// ---- take, gather -----------------------------------------------------------------------------------------------------------
namespace {

// The axis, checked; not that of the batch.
FailureOr<int64_t> fixedAxis(Operation* op, int64_t axis, TensorType type) {
  FailureOr<int64_t> checked = checkAxis(op, axis, type.getRank());
  if (succeeded(checked) && *checked == batchAxis(type)) return op->emitOpError() << "cannot run along the batch axis";
  return checked;
}

Indices replaced(At at, int64_t axis, Index place) {
  Indices all(at);
  all[axis] = place;
  return all;
}

// `type` with `axes` instead of `count` axes from `axis` on; `batch`: where the batch is then, -1: nowhere.
TensorType withAxes(TensorType type, int64_t axis, int64_t count, ArrayRef<int64_t> axes, int64_t batch, int64_t unit) {
  SmallVector<int64_t> dims(type.getShape().take_front(axis));
  dims.append(axes.begin(), axes.end());
  ArrayRef<int64_t> rest = type.getShape().drop_front(axis + count);
  dims.append(rest.begin(), rest.end());
  return tensorType(dims, type.getElementType(), batch, std::max<int64_t>(1, unit));
}

NamedAttribute number(OpBuilder& b, StringRef name, int64_t value) { return b.getNamedAttr(name, b.getI64IntegerAttr(value)); }

// Runs `sum` for every point of `extents` in order, one after the other.
void inOrder(KernelBuilder& k, ArrayRef<Extent> extents, llvm::function_ref<void(At)> sum) {
  SmallVector<Range> ranges(extents.begin(), extents.end());
  k.fold({}, ranges, [&](At at, ValueRange) {
    sum(at);
    return SmallVector<Value>{};
  });
}

}  // namespace

LogicalResult TakeOp::inferTypes() {
  FailureOr<TensorType> x = expectRank(*this, 0, -1), index = expectIntegers(*this, 1);
  if (failed(x) || failed(index)) return failure();
  FailureOr<int64_t> axis = fixedAxis(*this, getAxis(), *x);
  if (failed(axis)) return failure();
  int64_t own = batchAxis(*x), other = batchAxis(*index);
  if (own >= 0 && other >= 0) return emitOpError() << "has the batch in both operands; gather takes each sample's own places";
  int64_t batch = other >= 0 ? *axis + other : own > *axis ? own + index->getRank() - 1 : own;
  setResult(*this, 0, withAxes(*x, *axis, 1, index->getShape(), batch, other >= 0 ? batchUnit(*index) : batchUnit(*x)));
  return success();
}
LogicalResult TakeOp::buildGradient(GradientBuilder& g) {
  TensorType x = rankedType(getInput());
  int64_t axis = *checkAxis(*this, getAxis(), x.getRank());
  if (g.wants(0)) g.set(0, g.make<TakeGradOp>({g.dy(), getIndex()}, {number(g.builder, "axis", axis), number(g.builder, "size", x.getDimSize(axis))}));
  return success();
}
LogicalResult TakeOp::lower(KernelBuilder& k) {
  TensorType x = rankedType(getInput()), index = rankedType(getIndex());
  int64_t axis = *checkAxis(*this, getAxis(), x.getRank());
  SmallVector<Extent> all = allExtents(x), outer(all.begin(), all.begin() + axis), inner(all.begin() + axis + 1, all.end());
  llvm::append_range(outer, allExtents(index));
  k.rows(outer, [&](At p) {
    Index place = k.indexFrom(k.load(getIndex(), p.drop_front(axis)), x.getDimSize(axis));
    k.each(inner, [&](At r) {
      Indices from(p.take_front(axis)), to(p);
      from.push_back(place);
      from.append(r.begin(), r.end());
      to.append(r.begin(), r.end());
      k.store(getOutput(), to, k.load(getInput(), from));
    });
  });
  return success();
}
bool TakeOp::canOverwrite(unsigned, unsigned) { return false; }
int64_t TakeOp::upperBound(unsigned operand) {
  TensorType x = rankedType(getInput());
  return operand == 1 ? x.getDimSize(*checkAxis(*this, getAxis(), x.getRank())) : 0;
}

LogicalResult TakeGradOp::inferTypes() {
  FailureOr<TensorType> dy = expectRank(*this, 0, -1), index = expectRank(*this, 1, -1);
  if (failed(dy) || failed(index)) return failure();
  int64_t axis = getAxis(), rank = index->getRank(), batch = batchAxis(*dy);
  // The batch of the index is summed over.
  if (batch >= axis) batch = batch < axis + rank ? -1 : batch - rank + 1;
  setResult(*this, 0, withAxes(*dy, axis, rank, {static_cast<int64_t>(getSize())}, batch, batchUnit(*dy)));
  return success();
}
LogicalResult TakeGradOp::buildGradient(GradientBuilder& g) {
  if (g.wants(0)) g.set(0, g.make<TakeOp>({g.dy(), getIndex()}, number(g.builder, "axis", getAxis())));
  return success();
}
LogicalResult TakeGradOp::lower(KernelBuilder& k) {
  TensorType type = rankedType(getOutput()), index = rankedType(getIndex());
  int64_t axis = getAxis(), rank = type.getRank(), columns = 1;
  SmallVector<Extent> all = allExtents(type), outer(all.begin(), all.begin() + axis);
  for (int64_t i = axis + 1; i < rank; ++i) outer.push_back(all[i]);
  // A row owns some columns of the last axis, all of the indexed one.
  bool cut = axis + 1 < rank && !outer.back().isBatch();
  if (cut) {
    columns = columnsPerRow(outer.back().size);
    outer.back() = {outer.back().size / columns, 0};
  }
  k.rows(outer, [&](At p) {
    // The place of column `c` of this row: before the axis, and behind it.
    ArrayRef<Index> before = p.take_front(axis);
    auto behind = [&](Index c) {
      Indices at(p.drop_front(axis));
      if (cut) at.back() = at.back() * columns + c;
      return at;
    };
    auto place = [&](ArrayRef<Index> middle, Index c) {
      Indices at(before), rest = behind(c);
      at.append(middle.begin(), middle.end());
      at.append(rest.begin(), rest.end());
      return at;
    };
    k.each({all[axis], Extent{columns, 0}}, [&](At r) { k.store(getOutput(), place(r[0], r[1]), k.body().constant(0, type.getElementType())); });
    inOrder(k, allExtents(index), [&](At i) {
      Index to = k.indexFrom(k.load(getIndex(), i), getSize());
      k.each({Extent{columns, 0}}, [&](At r) { k.accumulate(getOutput(), place(to, r[0]), k.load(getDy(), place(i, r[0]))); });
    });
  });
  return success();
}
bool TakeGradOp::canOverwrite(unsigned, unsigned) { return false; }
int64_t TakeGradOp::upperBound(unsigned operand) { return operand == 1 ? getSize() : 0; }

LogicalResult GatherOp::inferTypes() {
  FailureOr<TensorType> x = expectRank(*this, 0, -1), index = expectIntegers(*this, 1);
  if (failed(x) || failed(index)) return failure();
  FailureOr<int64_t> axis = fixedAxis(*this, getAxis(), *x);
  if (failed(axis)) return failure();
  bool fits = index->getRank() == x->getRank() && batchAxis(*index) == batchAxis(*x) && batchUnit(*index) == batchUnit(*x);
  for (int64_t i = 0; i < x->getRank() && fits; ++i) fits = i == *axis || index->getDimSize(i) == x->getDimSize(i);
  if (!fits)
    return emitOpError() << "expects an index of the input's sizes but on axis " << *axis << ", got " << shapeText(*index) << " for " << shapeText(*x);
  return setResult(*this, 0, withElement(plain(*index), x->getElementType())), success();
}
LogicalResult GatherOp::buildGradient(GradientBuilder& g) {
  TensorType x = rankedType(getInput());
  int64_t axis = *checkAxis(*this, getAxis(), x.getRank());
  if (g.wants(0)) g.set(0, g.make<GatherGradOp>({g.dy(), getIndex()}, {number(g.builder, "axis", axis), number(g.builder, "size", x.getDimSize(axis))}));
  return success();
}
LogicalResult GatherOp::lower(KernelBuilder& k) {
  TensorType x = rankedType(getInput()), index = rankedType(getIndex());
  int64_t axis = *checkAxis(*this, getAxis(), x.getRank());
  SmallVector<Extent> extents = allExtents(index);
  k.rows(ArrayRef(extents).drop_back(), [&](At p) {
    inOrder(k, extents.back(), [&](At last) {
      Indices at = with(p, last[0]);
      Index place = k.indexFrom(k.load(getIndex(), at), x.getDimSize(axis));
      k.store(getOutput(), at, k.load(getInput(), replaced(at, axis, place)));
    });
  });
  return success();
}
bool GatherOp::canOverwrite(unsigned, unsigned) { return false; }
int64_t GatherOp::upperBound(unsigned operand) {
  TensorType x = rankedType(getInput());
  return operand == 1 ? x.getDimSize(*checkAxis(*this, getAxis(), x.getRank())) : 0;
}

LogicalResult GatherGradOp::inferTypes() {
  FailureOr<TensorType> dy = expectRank(*this, 0, -1);
  if (failed(dy)) return failure();
  SmallVector<int64_t> dims(dy->getShape());
  dims[getAxis()] = getSize();
  return setResult(*this, 0, withDims(*dy, dims)), success();
}
LogicalResult GatherGradOp::buildGradient(GradientBuilder& g) {
  if (g.wants(0)) g.set(0, g.make<GatherOp>({g.dy(), getIndex()}, number(g.builder, "axis", getAxis())));
  return success();
}
LogicalResult GatherGradOp::lower(KernelBuilder& k) {
  TensorType type = rankedType(getOutput()), dy = rankedType(getDy());
  int64_t axis = getAxis();
  SmallVector<Extent> outer = allExtents(type);
  outer.erase(outer.begin() + axis);
  k.rows(outer, [&](At p) {
    auto at = [&](Index place) {
      Indices all(p);
      all.insert(all.begin() + axis, place);
      return all;
    };
    k.each({extentOf(type, axis)}, [&](At r) { k.store(getOutput(), at(r[0]), k.body().constant(0, type.getElementType())); });
    inOrder(k, {extentOf(dy, axis)}, [&](At i) {
      Index to = k.indexFrom(k.load(getIndex(), at(i[0])), getSize());
      k.accumulate(getOutput(), at(to), k.load(getDy(), at(i[0])));
    });
  });
  return success();
}
bool GatherGradOp::canOverwrite(unsigned, unsigned) { return false; }
int64_t GatherGradOp::upperBound(unsigned operand) { return operand == 1 ? getSize() : 0; }

// ---- The largest ------------------------------------------------------------------------------------------------------------
namespace {

template <typename OpType>
LogicalResult inferArgExtreme(OpType op) {
  FailureOr<TensorType> x = expectRank(op, 0, -1);
  if (failed(x)) return failure();
  FailureOr<int64_t> axis = fixedAxis(op, op.getAxis(), *x);
  if (failed(axis)) return failure();
  TensorType type = op.getKeepDims() ? keptType(*x, {*axis}) : droppedType(*x, {*axis});
  return setResult(op, 0, withElement(type, IntegerType::get(op.getContext(), 32))), success();
}

// The first place that holds the extreme; where it is NaN, the first NaN.
template <typename OpType>
LogicalResult lowerArgExtreme(OpType op, KernelBuilder& k, Combine combine) {
  TensorType x = rankedType(op.getInput());
  int64_t axis = *checkAxis(op, op.getAxis(), x.getRank());
  Extent size = extentOf(x, axis);
  forEachKept(k, op.getInput(), op.getOutput(), {axis}, op.getKeepDims(), [&](At kept, FullPoint full) {
    Value best = k.reduce1(combine, {size}, [&](At r) { return k.load(op.getInput(), full(r)); });
    Value place = k.reduce1(Combine::min, {size}, [&](At r) {
      Value value = k.load(op.getInput(), full(r)), position = k.position(r[0]);
      Body b = k.body();
      Value hit = b.logicalOr(b.eq(value, best), b.ne(value, value));
      return b.select(hit, position, b.constant(static_cast<double>(size.size), position));
    });
    k.store(op.getOutput(), kept, k.body().cast(place, rankedType(op.getOutput()).getElementType()));
  });
  return success();
}

}  // namespace

LogicalResult ArgMaxOp::inferTypes() { return inferArgExtreme(*this); }
LogicalResult ArgMaxOp::buildGradient(GradientBuilder&) { return success(); }
LogicalResult ArgMaxOp::lower(KernelBuilder& k) { return lowerArgExtreme(*this, k, Combine::max); }
bool ArgMaxOp::canOverwrite(unsigned, unsigned) { return false; }

LogicalResult ArgMinOp::inferTypes() { return inferArgExtreme(*this); }
LogicalResult ArgMinOp::buildGradient(GradientBuilder&) { return success(); }
LogicalResult ArgMinOp::lower(KernelBuilder& k) { return lowerArgExtreme(*this, k, Combine::min); }
bool ArgMinOp::canOverwrite(unsigned, unsigned) { return false; }

LogicalResult TopKOp::inferTypes() {
  FailureOr<TensorType> x = expectRank(*this, 0, -1);
  if (failed(x)) return failure();
  FailureOr<int64_t> axis = fixedAxis(*this, getAxis(), *x);
  if (failed(axis)) return failure();
  if (!isa<FloatType>(x->getElementType())) return emitOpError() << "expects a floating-point input, got " << x->getElementType();
  int64_t size = x->getDimSize(*axis), k = getK();
  if (k < 1 || k > size) return emitOpError() << "needs k in [1, " << size << "], got " << k;
  SmallVector<int64_t> dims(x->getShape());
  dims[*axis] = k;
  setResult(*this, 0, withDims(*x, dims));
  setResult(*this, 1, withElement(withDims(*x, dims), IntegerType::get(getContext(), 32)));
  return success();
}
LogicalResult TopKOp::buildGradient(GradientBuilder& g) {
  TensorType x = rankedType(getInput());
  int64_t axis = *checkAxis(*this, getAxis(), x.getRank());
  if (g.dy(0)) g.set(0, g.make<GatherGradOp>({g.dy(0), getPlaces()}, {number(g.builder, "axis", axis), number(g.builder, "size", x.getDimSize(axis))}));
  return success();
}
// Each is the first of the largest among those that come after the one before, in the order (larger first, then by place).
LogicalResult TopKOp::lower(KernelBuilder& k) {
  TensorType x = rankedType(getInput());
  int64_t axis = *checkAxis(*this, getAxis(), x.getRank());
  Extent size = extentOf(x, axis);
  SmallVector<Extent> outer = allExtents(x);
  outer.erase(outer.begin() + axis);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  k.rows(outer, [&](At p) {
    auto at = [&](Index place) {
      Indices all(p);
      all.insert(all.begin() + axis, place);
      return all;
    };
    Body first = k.body();
    Value none = first.constant(kInfinity, x.getElementType()), before = first.constant(-1, first.builder.getI64Type());
    k.fold({none, before}, {Range(static_cast<int64_t>(getK()))}, [&](At j, ValueRange last) {
      // Whether the element at `r` comes after the last one.
      auto remains = [&](Value value, Value position) {
        Body b = k.body();
        return b.logicalOr(b.lt(value, last[0]), b.logicalAnd(b.eq(value, last[0]), b.gt(position, last[1])));
      };
      Value best = k.reduce1(Combine::max, {size}, [&](At r) {
        Value value = k.load(getInput(), at(r[0]));
        Value counts = remains(value, k.position(r[0]));
        return k.body().select(counts, value, k.body().constant(-kInfinity, value));
      });
      Value place = k.reduce1(Combine::min, {size}, [&](At r) {
        Value value = k.load(getInput(), at(r[0])), position = k.position(r[0]);
        Value counts = remains(value, position);
        Body b = k.body();
        return b.select(b.logicalAnd(counts, b.eq(value, best)), position, b.constant(static_cast<double>(size.size - 1), position));
      });
      k.store(getValues(), at(j[0]), best);
      k.store(getPlaces(), at(j[0]), k.body().cast(place, rankedType(getPlaces()).getElementType()));
      return SmallVector<Value>{best, place};
    });
  });
  return success();
}
bool TopKOp::canOverwrite(unsigned, unsigned) { return false; }

}  // namespace mxc::mx
