// Pooling runs its vectors over channels; windows are loops. Gradients gather: each input place asks the windows that cover it.
#include "ir/ops/pool.h"

#include <limits>

#include "ir/ops/elementwise.h"
#include "ir/ops/reduce.h"
#include "ir/origin.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "ir/ops/pool.cc.inc"

namespace mxc::mx {

void registerFamily_pool(MxDialect& dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "ir/ops/pool.cc.inc"
      >();
}

namespace {

using Size2 = ArrayRef<int64_t>;

template <typename OpType>
FailureOr<TensorType> pooledType(OpType op) {
  FailureOr<TensorType> x = expectRank(op, 0, 4);
  if (failed(x)) return failure();
  Size2 kernel = op.getKernel(), stride = op.getStride(), pad = op.getPad();
  SmallVector<int64_t> dims(x->getShape());
  for (int i : {0, 1}) {
    int64_t size = x->getDimSize(2 + i), padded = size + 2 * pad[i];
    if (kernel[i] < 1 || stride[i] < 1 || pad[i] < 0) return op.emitOpError() << "needs kernel and stride >= 1 and pad >= 0";
    if (pad[i] >= kernel[i]) return op.emitOpError() << "pad " << pad[i] << " must be smaller than the kernel " << kernel[i];
    if (kernel[i] > padded) {
      InFlightDiagnostic error = op.emitOpError() << "kernel of " << kernel[i] << " is larger than the padded input of " << padded;
      noteOrigin(error, op.getInput(), 2 + i, (i == 0 ? "the height " : "the width ") + Twine(size));
      return error;
    }
    int64_t rounded = op.getCeilMode() ? std::min(padded - kernel[i] + stride[i] - 1, padded - 1) : padded - kernel[i];
    dims[2 + i] = rounded / stride[i] + 1;
    if (op.getCeilMode() && (dims[2 + i] - 1) * stride[i] >= size + pad[i]) --dims[2 + i];
  }
  return withDims(*x, dims);
}

NamedAttribute sizes(OpBuilder& b, StringRef name, Size2 value) { return b.getNamedAttr(name, b.getDenseI64ArrayAttr(value)); }

// The windows [lo, hi) that cover place `at` of an axis.
Range coveringWindows(KernelBuilder& k, const Index& at, int64_t kernel, int64_t stride, int64_t pad, int64_t windows) {
  OpBuilder& b = k.body().builder;
  Location loc = k.body().loc;
  auto constant = [&](int64_t c) -> Value { return b.create<arith::ConstantIndexOp>(loc, c); };
  Value place = b.create<arith::AddIOp>(loc, k.scalar(at), constant(pad));
  // ceil((place - kernel + 1) / stride), kept from going negative before the division.
  Value first = b.create<arith::SubIOp>(loc, place, constant(kernel - stride));
  Value lo = b.create<arith::DivUIOp>(loc, b.create<arith::MaxSIOp>(loc, first, constant(0)), constant(stride));
  Value last = b.create<arith::AddIOp>(loc, b.create<arith::DivUIOp>(loc, place, constant(stride)), constant(1));
  return {lo, b.create<arith::MinSIOp>(loc, last, constant(windows))};
}

// The part [lo, hi) of a window's taps that lies inside the axis; `padding` adds the places that count as zeros.
std::pair<Value, Value> tapsInside(KernelBuilder& k, const Index& window, int64_t kernel, int64_t stride, int64_t pad, int64_t size,
                                   int64_t padding) {
  OpBuilder& b = k.body().builder;
  Location loc = k.body().loc;
  auto constant = [&](int64_t c) -> Value { return b.create<arith::ConstantIndexOp>(loc, c); };
  Value start = b.create<arith::SubIOp>(loc, k.scalar(window * stride), constant(pad));
  Value before = b.create<arith::SubIOp>(loc, constant(-padding), start);
  Value after = b.create<arith::SubIOp>(loc, constant(size + padding), start);
  return {b.create<arith::MaxSIOp>(loc, before, constant(0)), b.create<arith::MinSIOp>(loc, after, constant(kernel))};
}

// The number of places that the mean of a window counts, as `element`.
Value windowCount(KernelBuilder& k, At window, TensorType x, Size2 kernel, Size2 stride, Size2 pad, bool countPad, Type element) {
  OpBuilder& b = k.body().builder;
  Location loc = k.body().loc;
  Value count;
  for (int i : {0, 1}) {
    auto [lo, hi] = tapsInside(k, window[i], kernel[i], stride[i], pad[i], x.getDimSize(2 + i), countPad ? pad[i] : 0);
    Value taps = b.create<arith::SubIOp>(loc, hi, lo);
    count = count ? b.create<arith::MulIOp>(loc, count, taps) : taps;
  }
  Value wide = b.create<arith::IndexCastOp>(loc, b.getI64Type(), count);
  return k.body().cast(wide, element);
}

}  // namespace

// ---- max --------------------------------------------------------------------------------------------------------------------
LogicalResult MaxPoolOp::inferTypes() {
  FailureOr<TensorType> y = pooledType(*this);
  if (failed(y)) return failure();
  Builder b(getContext());
  setResult(*this, 0, *y);
  setResult(*this, 1, withElement(*y, getKernel()[0] * getKernel()[1] <= 127 ? b.getI8Type() : b.getI32Type()));
  return success();
}

LogicalResult MaxPoolOp::buildGradient(GradientBuilder& g) {
  OpBuilder& b = g.builder;
  g.set(0, g.make<MaxPoolGradOp>({g.dy(), getIndex()},
                                 {sizes(b, "size", rankedType(getInput()).getShape().take_back(2)), sizes(b, "kernel", getKernel()),
                                  sizes(b, "stride", getStride()), sizes(b, "pad", getPad())}));
  return success();
}

LogicalResult MaxPoolOp::lower(KernelBuilder& k) {
  Size2 kernel = getKernel(), stride = getStride(), pad = getPad();
  Type element = rankedType(getInput()).getElementType(), indexElement = rankedType(getIndex()).getElementType();
  k.forall(getOutput(), [&](At p) {
    Body b = k.body();
    Value lowest = b.constant(-std::numeric_limits<double>::infinity(), element), first = b.constant(0, indexElement);
    auto state = k.fold({lowest, first}, {Range(kernel[0]), Range(kernel[1])}, [&](At r, ValueRange best) {
      Value x = k.loadOr(getInput(), {p[0], p[1], p[2] * stride[0] + r[0] - pad[0], p[3] * stride[1] + r[1] - pad[1]},
                         -std::numeric_limits<double>::infinity());
      Body b = k.body();
      // A NaN is taken, and stays: nothing is greater.
      Value take = b.logicalOr(b.gt(x, best[0]), b.ne(x, x));
      Value place = b.cast(k.position(r[0] * kernel[1] + r[1]), indexElement);
      return SmallVector<Value>{b.select(take, x, best[0]), b.select(take, place, best[1])};
    });
    k.store(getOutput(), p, state[0]);
    k.store(getIndex(), p, state[1]);
  }, {2, 3});
  return success();
}
// No index: the gradient finds the maximum again.
PaperFacts MaxPoolOp::paperFacts(BackwardReads) {
  PaperFacts facts = PaperFacts::unknown((*this)->getResults());
  facts.writes.pop_back();
  facts.readsWrites = {0};
  return facts;
}
bool MaxPoolOp::canOverwrite(unsigned, unsigned) { return false; }

LogicalResult MaxPoolGradOp::inferTypes() {
  FailureOr<TensorType> dy = expectRank(*this, 0, 4);
  if (failed(dy)) return failure();
  setResult(*this, 0, withDims(*dy, {dy->getDimSize(0), dy->getDimSize(1), getSize()[0], getSize()[1]}));
  return success();
}

LogicalResult MaxPoolGradOp::buildGradient(GradientBuilder& g) {
  OpBuilder& b = g.builder;
  if (g.wants(0))
    g.set(0, g.make<MaxPoolPickOp>({g.dy(), getIndex()},
                                   {sizes(b, "kernel", getKernel()), sizes(b, "stride", getStride()), sizes(b, "pad", getPad())}));
  return success();
}

LogicalResult MaxPoolGradOp::lower(KernelBuilder& k) {
  TensorType dy = rankedType(getDy());
  Size2 kernel = getKernel(), stride = getStride(), pad = getPad();
  Type indexElement = rankedType(getIndex()).getElementType();
  k.forall(getOutput(), [&](At p) {
    Range rows = coveringWindows(k, p[2], kernel[0], stride[0], pad[0], dy.getDimSize(2));
    Range columns = coveringWindows(k, p[3], kernel[1], stride[1], pad[1], dy.getDimSize(3));
    Value sum = k.reduce1(Combine::sum, {rows, columns}, [&](At r) {
      Indices window = {p[0], p[1], r[0], r[1]};
      Index tap = (p[2] + Index(pad[0]) - r[0] * stride[0]) * kernel[1] + (p[3] + Index(pad[1]) - r[1] * stride[1]);
      Value d = k.load(getDy(), window), chosen = k.load(getIndex(), window);
      Body b = k.body();
      return b.select(b.eq(chosen, b.cast(k.position(tap), indexElement)), d, b.constant(0, d));
    });
    k.store(getOutput(), p, sum);
  }, {2, 3});
  return success();
}
bool MaxPoolGradOp::canOverwrite(unsigned, unsigned) { return false; }

LogicalResult MaxPoolPickOp::inferTypes() {
  FailureOr<TensorType> x = expectRank(*this, 0, 4), index = expectRank(*this, 1, 4);
  if (failed(x) || failed(index)) return failure();
  return setResult(*this, 0, withElement(*index, x->getElementType())), success();
}

LogicalResult MaxPoolPickOp::buildGradient(GradientBuilder& g) {
  OpBuilder& b = g.builder;
  if (g.wants(0))
    g.set(0, g.make<MaxPoolGradOp>({g.dy(), getIndex()},
                                   {sizes(b, "size", rankedType(getInput()).getShape().take_back(2)), sizes(b, "kernel", getKernel()),
                                    sizes(b, "stride", getStride()), sizes(b, "pad", getPad())}));
  return success();
}

LogicalResult MaxPoolPickOp::lower(KernelBuilder& k) {
  Size2 kernel = getKernel(), stride = getStride(), pad = getPad();
  Type indexElement = rankedType(getIndex()).getElementType();
  k.forall(getOutput(), [&](At p) {
    Value chosen = k.load(getIndex(), p);
    Value sum = k.reduce1(Combine::sum, {Range(kernel[0]), Range(kernel[1])}, [&](At r) {
      Value x = k.loadOr(getInput(), {p[0], p[1], p[2] * stride[0] + r[0] - pad[0], p[3] * stride[1] + r[1] - pad[1]}, 0);
      Body b = k.body();
      return b.select(b.eq(chosen, b.cast(k.position(r[0] * kernel[1] + r[1]), indexElement)), x, b.constant(0, x));
    });
    k.store(getOutput(), p, sum);
  }, {2, 3});
  return success();
}
bool MaxPoolPickOp::canOverwrite(unsigned, unsigned) { return false; }

// ---- average ----------------------------------------------------------------------------------------------------------------
LogicalResult AvgPoolOp::inferTypes() {
  FailureOr<TensorType> y = pooledType(*this);
  if (failed(y)) return failure();
  return setResult(*this, 0, *y), success();
}

LogicalResult AvgPoolOp::buildGradient(GradientBuilder& g) {
  OpBuilder& b = g.builder;
  g.set(0, g.make<AvgPoolGradOp>({g.dy()}, {sizes(b, "size", rankedType(getInput()).getShape().take_back(2)), sizes(b, "kernel", getKernel()),
                                            sizes(b, "stride", getStride()), sizes(b, "pad", getPad()),
                                            b.getNamedAttr("count_pad", b.getBoolAttr(getCountPad()))}));
  return success();
}

LogicalResult AvgPoolOp::lower(KernelBuilder& k) {
  TensorType x = rankedType(getInput());
  Size2 kernel = getKernel(), stride = getStride(), pad = getPad();
  k.forall(getOutput(), [&](At p) {
    Value count = windowCount(k, p.drop_front(2), x, kernel, stride, pad, getCountPad(), x.getElementType());
    Value sum = k.reduce1(Combine::sum, {Range(kernel[0]), Range(kernel[1])}, [&](At r) {
      return k.loadOr(getInput(), {p[0], p[1], p[2] * stride[0] + r[0] - pad[0], p[3] * stride[1] + r[1] - pad[1]}, 0);
    });
    k.store(getOutput(), p, k.body().div(sum, count));
  }, {2, 3});
  return success();
}
bool AvgPoolOp::canOverwrite(unsigned, unsigned) { return false; }

LogicalResult AvgPoolGradOp::inferTypes() {
  FailureOr<TensorType> dy = expectRank(*this, 0, 4);
  if (failed(dy)) return failure();
  return setResult(*this, 0, withDims(*dy, {dy->getDimSize(0), dy->getDimSize(1), getSize()[0], getSize()[1]})), success();
}

// The transpose of a linear map: its gradient is the pooling itself, whose output size dy already has.
LogicalResult AvgPoolGradOp::buildGradient(GradientBuilder& g) {
  OpBuilder& b = g.builder;
  int64_t floorSize = (getSize()[0] + 2 * getPad()[0] - getKernel()[0]) / getStride()[0] + 1;
  int64_t floorWidth = (getSize()[1] + 2 * getPad()[1] - getKernel()[1]) / getStride()[1] + 1;
  TensorType dy = rankedType(getDy());
  bool ceil = dy.getDimSize(2) != floorSize || dy.getDimSize(3) != floorWidth;
  g.set(0, g.make<AvgPoolOp>({g.dy()}, {sizes(b, "kernel", getKernel()), sizes(b, "stride", getStride()), sizes(b, "pad", getPad()),
                                        b.getNamedAttr("ceil_mode", b.getBoolAttr(ceil)),
                                        b.getNamedAttr("count_pad", b.getBoolAttr(getCountPad()))}));
  return success();
}

LogicalResult AvgPoolGradOp::lower(KernelBuilder& k) {
  TensorType dy = rankedType(getDy()), dx = rankedType(getOutput());
  Size2 kernel = getKernel(), stride = getStride(), pad = getPad();
  k.forall(getOutput(), [&](At p) {
    Range rows = coveringWindows(k, p[2], kernel[0], stride[0], pad[0], dy.getDimSize(2));
    Range columns = coveringWindows(k, p[3], kernel[1], stride[1], pad[1], dy.getDimSize(3));
    Value sum = k.reduce1(Combine::sum, {rows, columns}, [&](At r) {
      Value count = windowCount(k, r, dx, kernel, stride, pad, getCountPad(), dy.getElementType());
      Value d = k.load(getDy(), {p[0], p[1], r[0], r[1]});
      return k.body().div(d, count);
    });
    k.store(getOutput(), p, sum);
  }, {2, 3});
  return success();
}
bool AvgPoolGradOp::canOverwrite(unsigned, unsigned) { return false; }

// ---- global -----------------------------------------------------------------------------------------------------------------
namespace {

template <typename OpType>
LogicalResult inferGlobal(OpType op) {
  FailureOr<TensorType> x = expectRank(op, 0, 4);
  if (failed(x)) return failure();
  if (batchAxis(*x) > 1) return op.emitOpError() << "the batch must be axis 0";
  return setResult(op, 0, keptType(*x, {2, 3})), success();
}

template <typename OpType>
LogicalResult lowerGlobal(OpType op, KernelBuilder& k, Combine combine, bool mean) {
  TensorType x = rankedType(op.getInput());
  SmallVector<Extent> plane = extentsOf(x, {2, 3});
  forEachKept(k, op.getInput(), op.getOutput(), {2, 3}, true, [&](At kept, FullPoint full) {
    Value reduced = k.reduce1(combine, {plane[0], plane[1]}, [&](At inner) { return k.load(op.getInput(), full(inner)); });
    k.store(op.getOutput(), kept, mean ? k.body().div(reduced, k.count(plane, x.getElementType())) : reduced);
  });
  return success();
}

// The result keeps its channels as the input has them.
TensorType globalResultType(Value input, Value output) {
  TensorType from = rankedType(input), type = rankedType(output);
  Layout layout = layoutOf(from);
  return layout.blockAxis == 1 ? withLayout(type, layout.order, 1, layout.block) : plain(type);
}

}  // namespace

LogicalResult GlobalAvgPoolOp::inferTypes() { return inferGlobal(*this); }
LogicalResult GlobalAvgPoolOp::buildGradient(GradientBuilder& g) {
  TensorType x = rankedType(getInput());
  return g.set(0, g.mul(g.constant(1.0 / static_cast<double>(x.getDimSize(2) * x.getDimSize(3)), g.dy()), g.dy())), success();
}
LogicalResult GlobalAvgPoolOp::lower(KernelBuilder& k) { return lowerGlobal(*this, k, Combine::sum, true); }
bool GlobalAvgPoolOp::canOverwrite(unsigned, unsigned) { return false; }
TensorType GlobalAvgPoolOp::wantedOperandType(unsigned, int64_t) { return rankedType(getInput()); }
TensorType GlobalAvgPoolOp::wantedResultType(unsigned, int64_t) { return globalResultType(getInput(), getOutput()); }

LogicalResult GlobalMaxPoolOp::inferTypes() { return inferGlobal(*this); }
LogicalResult GlobalMaxPoolOp::buildGradient(GradientBuilder& g) {
  OpBuilder& b = g.builder;
  Value mask = g.make<EqualOp>({getInput(), getOutput()});
  Value ties = g.make<ReduceSumOp>({mask}, {b.getNamedAttr("axes", b.getDenseI64ArrayAttr({2, 3})), b.getNamedAttr("keep_dims", b.getBoolAttr(true))});
  return g.set(0, g.mul(mask, g.div(g.dy(), ties))), success();
}
LogicalResult GlobalMaxPoolOp::lower(KernelBuilder& k) { return lowerGlobal(*this, k, Combine::max, false); }
bool GlobalMaxPoolOp::canOverwrite(unsigned, unsigned) { return false; }
TensorType GlobalMaxPoolOp::wantedOperandType(unsigned, int64_t) { return rankedType(getInput()); }
TensorType GlobalMaxPoolOp::wantedResultType(unsigned, int64_t) { return globalResultType(getInput(), getOutput()); }

}  // namespace mxc::mx
