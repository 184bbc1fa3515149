// With W the sum over neighbouring channels and s = k + a W(x^2), a = alpha / size:
//   y  = x s^-beta
//   dx = dy s^-beta - 2 a beta x W(dy x s^(-beta-1))
// Nothing but x is kept for the gradient: s is computed again, for each neighbour.
#include "ir/ops/lrn.h"

#include "ir/ops/elementwise.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "ir/ops/lrn.cc.inc"

namespace mxc::mx {

void registerFamily_lrn(MxDialect& dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "ir/ops/lrn.cc.inc"
      >();
}

namespace {

// The numbers of an lrn or lrn_grad.
struct Lrn {
  int64_t size;
  double a, beta, k;
  template <typename OpType>
  explicit Lrn(OpType op)
      : size(op.getSize()), a(op.getAlpha().convertToDouble() / static_cast<double>(op.getSize())), beta(op.getBeta().convertToDouble()),
        k(op.getK().convertToDouble()) {}
};

// The place `p` with its channel moved by `tap` from the window's start.
Indices neighbour(At p, const Index& tap, int64_t size) {
  Indices at(p);
  at[1] = at[1] + tap - Index(size / 2);
  return at;
}

Value windowSum(KernelBuilder& k, At p, int64_t size, llvm::function_ref<Value(At)> term) {
  return k.reduce1(Combine::sum, {Range(size)}, [&](At r) { return term(neighbour(p, r[0], size)); });
}

// log s at `p`.
Value logScale(KernelBuilder& k, Value x, At p, const Lrn& lrn) {
  Value energy = windowSum(k, p, lrn.size, [&](At at) {
    Value value = k.loadOr(x, at, 0);
    return k.body().mul(value, value);
  });
  Body b = k.body();
  return b.log(b.fma(energy, b.constant(lrn.a, energy), b.constant(lrn.k, energy)));
}

// s^power, from log s.
Value scalePower(KernelBuilder& k, Value logScale, double power) {
  Body b = k.body();
  return b.exp(b.mul(logScale, b.constant(power, logScale)));
}

NamedAttribute sizeAttribute(OpBuilder& b, int64_t size) { return b.getNamedAttr("size", b.getI64IntegerAttr(size)); }

// Axes that the vectors of a kernel must not run along.
constexpr int64_t kChannels[] = {1};

}  // namespace

// ---- lrn --------------------------------------------------------------------------------------------------------------------
LogicalResult LrnOp::inferTypes() {
  FailureOr<TensorType> x = expectRank(*this, 0, -1);
  if (failed(x)) return failure();
  if (x->getRank() < 2) return emitOpError() << "expects an input of at least two axes, channels on axis 1, got " << shapeText(*x);
  if (batchAxis(*x) == 1) return emitOpError() << "the batch cannot be the channels axis";
  if (!isa<FloatType>(x->getElementType())) return emitOpError() << "expects a floating-point input, got " << x->getElementType();
  int64_t size = getSize();
  if (size < 1 || size % 2 == 0) return emitOpError() << "needs an odd size, got " << size;
  if (!(getK().convertToDouble() > 0) || !(getAlpha().convertToDouble() >= 0)) return emitOpError() << "needs k > 0 and alpha >= 0";
  return setResult(*this, 0, plain(*x)), success();
}

LogicalResult LrnOp::buildGradient(GradientBuilder& g) {
  OpBuilder& b = g.builder;
  g.set(0, g.make<LrnGradOp>({g.dy(), getInput()}, {sizeAttribute(b, getSize()), b.getNamedAttr("alpha", getAlphaAttr()),
                                                    b.getNamedAttr("beta", getBetaAttr()), b.getNamedAttr("k", getKAttr())}));
  return success();
}

LogicalResult LrnOp::lower(KernelBuilder& k) {
  Lrn lrn(*this);
  k.forall(getOutput(), [&](At p) {
    Value factor = scalePower(k, logScale(k, getInput(), p, lrn), -lrn.beta);
    Value x = k.load(getInput(), p);
    k.store(getOutput(), p, k.body().mul(x, factor));
  }, kChannels);
  return success();
}

// s is kept, and cuDNN makes it again.
PaperFacts LrnOp::paperFacts(BackwardReads reads) {
  PaperFacts facts = PaperFacts::unknown((*this)->getResults());
  if (reads == BackwardReads::cudnn) return facts;
  facts.writes.push_back(facts.writes[0]);
  facts.readsWrites.push_back(1);
  return facts;
}

// ---- lrn_grad ---------------------------------------------------------------------------------------------------------------
LogicalResult LrnGradOp::inferTypes() {
  FailureOr<TensorType> x = expectRank(*this, 1, -1);
  if (failed(x)) return failure();
  return setResult(*this, 0, plain(*x)), success();
}

LogicalResult LrnGradOp::lower(KernelBuilder& k) {
  Lrn lrn(*this);
  k.forall(getOutput(), [&](At p) {
    Value spread = windowSum(k, p, lrn.size, [&](At at) {
      Value power = scalePower(k, logScale(k, getInput(), at, lrn), -lrn.beta - 1);
      Value dy = k.loadOr(getDy(), at, 0), x = k.loadOr(getInput(), at, 0);
      Body b = k.body();
      return b.mul(b.mul(dy, x), power);
    });
    Value factor = scalePower(k, logScale(k, getInput(), p, lrn), -lrn.beta);
    Value dy = k.load(getDy(), p), x = k.load(getInput(), p);
    Body b = k.body();
    Value slope = b.mul(b.mul(x, b.constant(2 * lrn.a * lrn.beta, x)), spread);
    k.store(getOutput(), p, b.sub(b.mul(dy, factor), slope));
  }, kChannels);
  return success();
}

// With c = 2 a beta, p = s^-beta, q = s^(-beta-1), u the gradient of dx, r = W(u x), t = dy x q:
//   in dy  p u - c x q r
//   in x   -c (u W(t) + dy q r) + 2 a x W(dy q (c (beta + 1) x r / s - beta u)), the last part through s
LogicalResult LrnGradOp::buildGradient(GradientBuilder& g) {
  Lrn lrn(*this);
  Value x = getInput(), dy = getDy(), u = g.dy();
  auto window = [&](Value v) { return g.make<ChannelWindowSumOp>({v}, sizeAttribute(g.builder, lrn.size)); };
  auto times = [&](double number, Value v) { return g.mul(g.constant(number, v), v); };
  double c = 2 * lrn.a * lrn.beta;
  Value s = g.add(g.constant(lrn.k, x), times(lrn.a, window(g.mul(x, x))));
  Value p = g.make<PowOp>({s, g.constant(-lrn.beta, x)}), q = g.div(p, s), r = window(g.mul(u, x));
  if (g.wants(0)) g.set(0, g.sub(g.mul(p, u), times(c, g.mul(g.mul(x, q), r))));
  if (!g.wants(1)) return success();
  Value dyq = g.mul(dy, q), direct = g.add(g.mul(u, window(g.mul(dyq, x))), g.mul(dyq, r));
  Value inScale = g.mul(dyq, g.sub(times(c * (lrn.beta + 1), g.div(g.mul(x, r), s)), times(lrn.beta, u)));
  g.set(1, g.sub(times(2 * lrn.a, g.mul(x, window(inScale))), times(c, direct)));
  return success();
}

// ---- channel_window_sum -------------------------------------------------------------------------------------------------------
LogicalResult ChannelWindowSumOp::inferTypes() {
  FailureOr<TensorType> x = expectRank(*this, 0, -1);
  if (failed(x)) return failure();
  return setResult(*this, 0, plain(*x)), success();
}
LogicalResult ChannelWindowSumOp::buildGradient(GradientBuilder& g) {
  return g.set(0, g.make<ChannelWindowSumOp>({g.dy()}, sizeAttribute(g.builder, getSize()))), success();
}
LogicalResult ChannelWindowSumOp::lower(KernelBuilder& k) {
  k.forall(getOutput(), [&](At p) {
    k.store(getOutput(), p, windowSum(k, p, getSize(), [&](At at) { return k.loadOr(getInput(), at, 0); }));
  }, kChannels);
  return success();
}

}  // namespace mxc::mx
