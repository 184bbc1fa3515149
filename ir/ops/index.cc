// Lookups copy rows. Their gradient is split over columns, never over samples: each sum runs through the samples in order, whatever
// the number of threads.
#include "ir/ops/index.h"

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

}  // namespace mxc::mx
