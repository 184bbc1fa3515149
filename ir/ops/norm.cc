// Batch norm in training is moments -> a few numbers a channel -> normalise. Backward: one reduction gives both sums that all its
// gradients need, and the gradient of the input is elementwise.
#include "ir/ops/norm.h"

#include "ir/ops/elementwise.h"
#include "ir/ops/reduce.h"
#include "ir/ops/shape.h"
#include "llvm/Support/Format.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "ir/ops/norm.cc.inc"

namespace mxc::mx {

void registerFamily_norm(MxDialect& dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "ir/ops/norm.cc.inc"
      >();
}

namespace {

NamedAttribute axesAttribute(OpBuilder& b, ArrayRef<int64_t> axes) { return b.getNamedAttr("axes", b.getDenseI64ArrayAttr(axes)); }

Value reshape(OpBuilder& b, Location loc, Value value, ArrayRef<int64_t> dims) {
  if (rankedType(value).getShape() == dims) return value;
  return make<ReshapeOp>(b, loc, {value}, b.getNamedAttr("shape", b.getDenseI64ArrayAttr(dims)));
}

std::string shown(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", number);
  return text;
}

LogicalResult checkEpsilon(Operation* op, const llvm::APFloat& epsilon) {
  double number = epsilon.convertToDouble();
  if (number >= 0) return success();
  return op->emitOpError() << "needs an epsilon of at least 0, got " << shown(number);
}

// Every axis but `kept`.
SmallVector<int64_t> otherAxes(int64_t rank, int64_t kept) {
  SmallVector<int64_t> axes;
  for (int64_t axis = 0; axis < rank; ++axis)
    if (axis != kept) axes.push_back(axis);
  return axes;
}

}  // namespace

// ---- batch_norm -------------------------------------------------------------------------------------------------------------
LogicalResult BatchNormOp::inferTypes() {
  FailureOr<TensorType> x = expectRank(*this, 0, -1);
  if (failed(x)) return failure();
  if (x->getRank() < 2) return emitOpError() << "expects an input of at least two axes, channels on axis 1, got " << shapeText(*x);
  if (batchAxis(*x) == 1) return emitOpError() << "the batch cannot be the channels axis";
  if (!isa<FloatType>(x->getElementType())) return emitOpError() << "expects a floating-point input, got " << x->getElementType();
  double momentum = getMomentum().convertToDouble();
  if (failed(checkEpsilon(*this, getEpsilon()))) return failure();
  if (!(momentum >= 0 && momentum <= 1)) return emitOpError() << "needs a momentum in [0, 1], got " << shown(momentum);
  for (unsigned operand : {1, 2, 3, 4})
    if (failed(setParameter(*this, operand, {x->getDimSize(1)}, x->getElementType()))) return failure();
  return setResult(*this, 0, plain(*x)), success();
}
LogicalResult BatchNormOp::buildGradient(GradientBuilder&) { return failure(); }
LogicalResult BatchNormOp::lower(KernelBuilder&) { return failure(); }
bool BatchNormOp::canOverwrite(unsigned, unsigned) { return false; }

FailureOr<SmallVector<Value>> BatchNormOp::buildForMode(ModeBuilder& m) {
  OpBuilder& b = m.builder;
  TensorType x = rankedType(getInput());
  auto number = [&](double value) { return makeConstant(b, m.loc, value, x.getElementType()); };
  auto mul = [&](Value p, Value q) { return make<MulOp>(b, m.loc, {p, q}); };
  auto add = [&](Value p, Value q) { return make<AddOp>(b, m.loc, {p, q}); };
  Value mean = getRunningMean(), variance = getRunningVariance();
  if (m.training) {
    Operation* moments = makeOp(b, m.loc, MomentsOp::getOperationName(), {getInput()}, axesAttribute(b, otherAxes(x.getRank(), 1)), 2);
    double keep = getMomentum().convertToDouble();
    for (auto [operand, value] : {std::pair(3u, moments->getResult(0)), std::pair(4u, moments->getResult(1))})
      m.newState(operand, add(mul(number(keep), getOperand(operand)), mul(number(1 - keep), value)));
    mean = moments->getResult(0);
    variance = moments->getResult(1);
  }
  Value inverse = make<RsqrtOp>(b, m.loc, {add(variance, number(getEpsilon().convertToDouble()))});
  SmallVector<int64_t> dims(x.getRank(), 1);
  dims[1] = x.getDimSize(1);
  auto spread = [&](Value v) { return reshape(b, m.loc, v, dims); };
  return SmallVector<Value>{make<NormaliseOp>(b, m.loc, {getInput(), spread(mean), spread(mul(inverse, getGamma())), spread(getBeta())})};
}

// ---- moments ----------------------------------------------------------------------------------------------------------------
LogicalResult MomentsOp::inferTypes() {
  FailureOr<TensorType> x = expectRank(*this, 0, -1);
  if (failed(x)) return failure();
  FailureOr<SmallVector<int64_t>> axes = reducedAxes(*this, getAxes(), x->getRank());
  if (failed(axes)) return failure();
  for (unsigned i : {0, 1}) setResult(*this, i, droppedType(*x, *axes));
  return success();
}

// dx = (dmean + 2 dvariance (x - mean)) / count; through the mean the variance does not change.
LogicalResult MomentsOp::buildGradient(GradientBuilder& g) {
  TensorType x = rankedType(getInput());
  SmallVector<int64_t> axes = *reducedAxes(*this, getAxes(), x.getRank()), kept(keptType(x, axes).getShape());
  auto [count, batched] = reducedCount(x, axes);
  auto spread = [&](Value v) { return reshape(g.builder, g.loc, v, kept); };
  auto perElement = [&, count = count, batched = batched](Value v) {
    return spread(g.make<DivByCountOp>({v}, {g.builder.getNamedAttr("per_sample", g.builder.getI64IntegerAttr(count)),
                                             g.builder.getNamedAttr("batched", g.builder.getBoolAttr(batched))}));
  };
  Value dx;
  if (g.dy(1)) dx = g.mul(g.sub(getInput(), spread(getMean())), perElement(g.mul(g.constant(2, g.dy(1)), g.dy(1))));
  if (g.dy(0)) dx = dx ? g.add(dx, perElement(g.dy(0))) : perElement(g.dy(0));
  if (dx) g.set(0, dx);
  return success();
}

LogicalResult MomentsOp::lower(KernelBuilder& k) {
  TensorType x = rankedType(getInput());
  SmallVector<int64_t> axes = *reducedAxes(*this, getAxes(), x.getRank());
  SmallVector<Extent> extents = extentsOf(x, axes);
  SmallVector<Range> ranges(extents.begin(), extents.end());
  forEachKept(k, getInput(), getMean(), axes, false, [&](At kept, FullPoint full) {
    Value sum = k.reduce1(Combine::sum, ranges, [&](At inner) { return k.load(getInput(), full(inner)); });
    Value count = k.count(extents, x.getElementType());
    Value mean = k.body().div(sum, count);
    Value squares = k.reduce1(Combine::sum, ranges, [&](At inner) {
      Value value = k.load(getInput(), full(inner));
      Body b = k.body();
      Value difference = b.sub(value, mean);
      return b.mul(difference, difference);
    });
    k.store(getMean(), kept, mean);
    k.store(getVariance(), kept, k.body().div(squares, count));
  });
  return success();
}
bool MomentsOp::canOverwrite(unsigned, unsigned) { return false; }

// ---- normalise --------------------------------------------------------------------------------------------------------------
SmallVector<Value> NormaliseOp::body(Body& b, ValueRange x) { return {b.fma(b.sub(x[0], x[1]), x[2], x[3])}; }

LogicalResult NormaliseOp::buildGradient(GradientBuilder& g) {
  if (g.wants(0)) g.set(0, g.mul(g.dy(), getScale()));
  if (!g.wants(1) && !g.wants(2) && !g.wants(3)) return success();
  TensorType x = rankedType(getOutput()), narrow = rankedType(getScale());
  SmallVector<int64_t> axes;
  for (int64_t axis = 0; axis < x.getRank(); ++axis)
    if (narrow.getDimSize(axis) == 1 && batchAxis(narrow) != axis) axes.push_back(axis);
  Operation* sums = makeOp(g.builder, g.loc, NormaliseSumsOp::getOperationName(), {g.dy(), getInput(), getMean()}, axesAttribute(g.builder, axes), 2);
  auto narrowed = [&](unsigned i) { return reshape(g.builder, g.loc, sums->getResult(i), narrow.getShape()); };
  if (g.wants(1)) g.set(1, g.neg(g.mul(narrowed(0), getScale())));
  if (g.wants(2)) g.set(2, narrowed(1));
  if (g.wants(3)) g.set(3, narrowed(0));
  return success();
}

LogicalResult NormaliseSumsOp::inferTypes() {
  FailureOr<TensorType> x = expectRank(*this, 1, -1);
  if (failed(x)) return failure();
  for (unsigned i : {0, 1}) setResult(*this, i, droppedType(*x, getAxes()));
  return success();
}

// Bilinear in dy and (input - mean).
LogicalResult NormaliseSumsOp::buildGradient(GradientBuilder& g) {
  SmallVector<int64_t> kept(keptType(rankedType(getInput()), getAxes()).getShape());
  auto spread = [&](Value v) { return reshape(g.builder, g.loc, v, kept); };
  Value plainPart = g.dy(0) ? spread(g.dy(0)) : Value(), centredPart = g.dy(1) ? spread(g.dy(1)) : Value();
  if (g.wants(0)) {
    Value d = centredPart ? g.mul(g.sub(getInput(), getMean()), centredPart) : Value();
    g.set(0, d && plainPart ? g.add(d, plainPart) : d ? d : plainPart);
  }
  if (!centredPart) return success();
  if (g.wants(1)) g.set(1, g.mul(getDy(), centredPart));
  if (g.wants(2)) g.set(2, g.neg(g.mul(spread(getSum()), centredPart)));
  return success();
}

LogicalResult NormaliseSumsOp::lower(KernelBuilder& k) {
  TensorType x = rankedType(getInput()), mean = rankedType(getMean());
  SmallVector<Extent> extents = extentsOf(x, getAxes());
  SmallVector<Range> ranges(extents.begin(), extents.end());
  forEachKept(k, getInput(), getSum(), getAxes(), false, [&](At kept, FullPoint full) {
    auto sums = k.reduce({Combine::sum, Combine::sum}, ranges, [&](At inner) {
      Indices at = full(inner);
      Value dy = k.load(getDy(), at), value = k.load(getInput(), at), centre = k.load(getMean(), broadcastAt(mean, at));
      Body b = k.body();
      return SmallVector<Value>{dy, b.mul(dy, b.sub(value, centre))};
    });
    k.store(getSum(), kept, sums[0]);
    k.store(getCentred(), kept, sums[1]);
  });
  return success();
}
bool NormaliseSumsOp::canOverwrite(unsigned, unsigned) { return false; }

// ---- group_norm, instance_norm ------------------------------------------------------------------------------------------------
namespace {

FailureOr<TensorType> inferGrouped(Operation* op, int64_t axes) {
  FailureOr<TensorType> x = expectRank(op, 0, -1);
  if (failed(x)) return failure();
  if (x->getRank() < axes)
    return op->emitOpError() << "expects an input of at least " << (axes == 2 ? "two" : "three") << " axes, channels on axis 1, got " << shapeText(*x);
  if (batchAxis(*x) > 0) return op->emitOpError() << "the batch must be axis 0";
  if (!isa<FloatType>(x->getElementType())) return op->emitOpError() << "expects a floating-point input, got " << x->getElementType();
  for (unsigned operand : {1, 2})
    if (failed(setParameter(op, operand, {x->getDimSize(1)}, x->getElementType()))) return failure();
  op->getResult(0).setType(plain(*x));
  return x;
}

// The groups of each sample less their mean, over their deviation; times gamma, plus beta.
Value grouped(OpBuilder& b, Location loc, ValueRange operands, int64_t groups, double epsilon) {
  TensorType x = rankedType(operands[0]);
  int64_t samples = x.getDimSize(0), channels = x.getDimSize(1), each = x.getNumElements() / (samples * groups);
  auto add = [&](Value p, Value q) { return make<AddOp>(b, loc, {p, q}); };
  auto mul = [&](Value p, Value q) { return make<MulOp>(b, loc, {p, q}); };
  Value rows = reshape(b, loc, operands[0], {samples, groups, each});
  Operation* moments = makeOp(b, loc, MomentsOp::getOperationName(), {rows}, axesAttribute(b, {2}), 2);
  auto column = [&](Value v) { return reshape(b, loc, v, {samples, groups, 1}); };
  Value inverse = make<RsqrtOp>(b, loc, {add(moments->getResult(1), makeConstant(b, loc, epsilon, x.getElementType()))});
  Value centred = make<SubOp>(b, loc, {rows, column(moments->getResult(0))});
  Value normal = reshape(b, loc, mul(centred, column(inverse)), x.getShape());
  SmallVector<int64_t> dims(x.getRank() - 1, 1);
  dims[0] = channels;
  return add(mul(normal, reshape(b, loc, operands[1], dims)), reshape(b, loc, operands[2], dims));
}

}  // namespace

LogicalResult GroupNormOp::inferTypes() {
  FailureOr<TensorType> x = inferGrouped(*this, 2);
  if (failed(x) || failed(checkEpsilon(*this, getEpsilon()))) return failure();
  int64_t groups = getGroups(), channels = x->getDimSize(1);
  if (groups < 1 || channels % groups != 0) return emitOpError() << groups << " groups do not divide " << channels << " channels";
  return success();
}
SmallVector<Value> GroupNormOp::decompose(OpBuilder& b) {
  return {grouped(b, getLoc(), getOperands(), getGroups(), getEpsilon().convertToDouble())};
}

LogicalResult InstanceNormOp::inferTypes() { return failure(failed(inferGrouped(*this, 3)) || failed(checkEpsilon(*this, getEpsilon()))); }
SmallVector<Value> InstanceNormOp::decompose(OpBuilder& b) {
  return {grouped(b, getLoc(), getOperands(), rankedType(getInput()).getDimSize(1), getEpsilon().convertToDouble())};
}

// ---- layer_norm -------------------------------------------------------------------------------------------------------------
LogicalResult LayerNormOp::inferTypes() {
  FailureOr<TensorType> x = expectRank(*this, 0, -1);
  if (failed(x)) return failure();
  int64_t last = x->getRank() - 1;
  if (last < 0) return emitOpError() << "expects at least a 1-D input";
  if (batchAxis(*x) == last) return emitOpError() << "the batch cannot be the normalised axis";
  if (!isa<FloatType>(x->getElementType())) return emitOpError() << "expects a floating-point input, got " << x->getElementType();
  if (failed(checkEpsilon(*this, getEpsilon()))) return failure();
  for (unsigned operand : {1, 2})
    if (failed(setParameter(*this, operand, {x->getDimSize(last)}, x->getElementType()))) return failure();
  setResult(*this, 0, plain(*x));
  for (unsigned i : {1, 2}) setResult(*this, i, keptType(*x, {last}));
  return success();
}

// In the input also what comes through mean and inverse, which the gradients read: d inverse / dx = -inverse^3 (x - mean) / count.
LogicalResult LayerNormOp::buildGradient(GradientBuilder& g) {
  Value centred = g.sub(getInput(), getMean());
  if (g.wants(0)) {
    double count = static_cast<double>(rankedType(getInput()).getShape().back());
    Value dx = g.dy(0) ? g.make<LayerNormGradOp>({g.dy(0), getInput(), getGamma(), getMean(), getInverse()}) : Value();
    auto add = [&](Value more) { dx = dx ? g.add(dx, more) : more; };
    if (g.dy(1)) add(g.mul(g.constant(1 / count, g.dy(1)), g.dy(1)));
    if (g.dy(2)) {
      Value cube = g.mul(getInverse(), g.mul(getInverse(), getInverse()));
      add(g.mul(centred, g.mul(g.constant(-1 / count, cube), g.mul(cube, g.dy(2)))));
    }
    g.set(0, dx);
  }
  if (!g.dy(0)) return success();
  if (g.wants(1)) g.set(1, g.mul(g.dy(0), g.mul(centred, getInverse())));
  if (g.wants(2)) g.set(2, g.dy(0));
  return success();
}

namespace {

// The rows of a tensor: `row(place with the last index left out, the last extent)`.
void forEachRow(KernelBuilder& k, TensorType type, llvm::function_ref<void(Indices, Extent)> row) {
  int64_t last = type.getRank() - 1;
  SmallVector<Extent> outer;
  for (int64_t axis = 0; axis < last; ++axis) outer.push_back(extentOf(type, axis));
  k.rows(outer, [&](At p) { row(Indices(p), extentOf(type, last)); });
}

Indices with(Indices row, Index last) {
  row.push_back(last);
  return row;
}

}  // namespace

LogicalResult LayerNormOp::lower(KernelBuilder& k) {
  TensorType type = rankedType(getInput());
  forEachRow(k, type, [&](Indices row, Extent size) {
    auto at = [&](Value x, At r) { return k.load(x, with(row, r[0])); };
    Value count = k.count({size}, type.getElementType());
    Value mean = k.body().div(k.reduce1(Combine::sum, {size}, [&](At r) { return at(getInput(), r); }), count);
    Value squares = k.reduce1(Combine::sum, {size}, [&](At r) {
      Value x = at(getInput(), r);
      Body b = k.body();
      Value difference = b.sub(x, mean);
      return b.mul(difference, difference);
    });
    Body b = k.body();
    Value inverse = b.rsqrt(b.add(b.div(squares, count), b.constant(getEpsilon().convertToDouble(), count)));
    k.store(getMean(), with(row, 0), mean);
    k.store(getInverse(), with(row, 0), inverse);
    k.each({size}, [&](At r) {
      Value x = at(getInput(), r), gamma = k.load(getGamma(), r[0]), beta = k.load(getBeta(), r[0]);
      Body b = k.body();
      k.store(getOutput(), with(row, r[0]), b.fma(b.mul(b.sub(x, mean), inverse), gamma, beta));
    });
  });
  return success();
}
bool LayerNormOp::canOverwrite(unsigned operand, unsigned result) { return operand == 0 && result == 0 && sameStorage(*this, 0, 0); }

LogicalResult LayerNormGradOp::inferTypes() {
  FailureOr<TensorType> x = expectRank(*this, 1, -1);
  if (failed(x)) return failure();
  return setResult(*this, 0, plain(*x)), success();
}
LogicalResult LayerNormGradOp::buildGradient(GradientBuilder& g) {
  return gradientThrough(g, *this, [&](OpBuilder& b) {
    int64_t last = rankedType(getInput()).getRank() - 1;
    auto make = [&](StringRef op, ValueRange operands) { return makeOp(b, g.loc, op, operands, {}, 1)->getResult(0); };
    auto mul = [&](Value p, Value q) { return make("mx.mul", {p, q}); };
    auto mean = [&](Value v) {
      return mxc::make<ReduceMeanOp>(b, g.loc, {v}, {axesAttribute(b, {last}), b.getNamedAttr("keep_dims", b.getBoolAttr(true))});
    };
    Value d = mul(getDy(), getGamma()), h = mul(make("mx.sub", {getInput(), getMean()}), getInverse());
    Value rest = make("mx.sub", {make("mx.sub", {d, mean(d)}), mul(h, mean(mul(d, h)))});
    return SmallVector<Value>{mul(getInverse(), rest)};
  });
}

// With d = dy * gamma and h = (x - mean) * inverse: dx = inverse * (d - mean(d) - h * mean(d h)).
LogicalResult LayerNormGradOp::lower(KernelBuilder& k) {
  TensorType type = rankedType(getInput());
  forEachRow(k, type, [&](Indices row, Extent size) {
    Value mean = k.load(getMean(), with(row, 0)), inverse = k.load(getInverse(), with(row, 0));
    auto both = [&](At r) {
      Value x = k.load(getInput(), with(row, r[0])), dy = k.load(getDy(), with(row, r[0])), gamma = k.load(getGamma(), r[0]);
      Body b = k.body();
      return std::pair(b.mul(dy, gamma), b.mul(b.sub(x, mean), inverse));
    };
    auto sums = k.reduce({Combine::sum, Combine::sum}, {size}, [&](At r) {
      auto [d, h] = both(r);
      return SmallVector<Value>{d, k.body().mul(d, h)};
    });
    Value count = k.count({size}, type.getElementType());
    Value meanD = k.body().div(sums[0], count), meanDh = k.body().div(sums[1], count);
    k.each({size}, [&](At r) {
      auto [d, h] = both(r);
      Body b = k.body();
      k.store(getOutput(), with(row, r[0]), b.mul(inverse, b.sub(b.sub(d, meanD), b.mul(h, meanDh))));
    });
  });
  return success();
}
// A row is read whole before its elements are written, each once after its last reading.
bool LayerNormGradOp::canOverwrite(unsigned operand, unsigned result) { return operand < 2 && sameStorage(*this, operand, result); }

}  // namespace mxc::mx
