// Bodies of the optimizer updates. The order of rescale, clip and weight decay stands in update.td; hyper-parameters stay scalars.
#include "ir/ops/update.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "ir/ops/update.cc.inc"

namespace mxc::mx {

void registerFamily_update(MxDialect& dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "ir/ops/update.cc.inc"
      >();
}

namespace {

using Values = SmallVector<Value>;

// What all updates begin with, read from the operands by their place: after weight, gradient and `states` states.
struct Prepared {
  Value weight, gradient, rate, decay;  // the gradient rescaled and clipped
  ValueRange own;                       // the hyper-parameters of the rule itself
};

Value scaled(Body& b, Value x, double factor) { return factor == 1 ? x : b.mul(x, b.constant(factor, x)); }

Value rescaledAndClipped(Body& b, Value gradient, Value rescale, Value clip) {
  Value g = b.mul(gradient, rescale), clipped = b.min(b.max(g, b.neg(clip)), clip);
  return b.select(b.gt(clip, b.constant(0, clip)), clipped, g);
}

template <typename OpType>
Prepared prepare(OpType op, Body& b, ValueRange x, unsigned states) {
  ValueRange hypers = x.drop_front(2 + states);
  return {x[0], rescaledAndClipped(b, x[1], hypers[2], hypers[3]), scaled(b, hypers[0], op.getLrMult().convertToDouble()), scaled(b, hypers[1], op.getWdMult().convertToDouble()),
          hypers.drop_front(4)};
}

Value decayed(Body& b, const Prepared& p) { return b.add(p.gradient, b.mul(p.decay, p.weight)); }

// a * x + (1 - a) * y
Value average(Body& b, Value a, Value x, Value y) { return b.add(b.mul(a, x), b.mul(b.sub(b.constant(1, a), a), y)); }

}  // namespace

Values SgdUpdateOp::body(Body& b, ValueRange x) {
  Prepared p = prepare(*this, b, x, 0);
  return {b.sub(p.weight, b.mul(p.rate, decayed(b, p)))};
}
LogicalResult SgdUpdateOp::buildGradient(GradientBuilder&) { return failure(); }

Values SgdMomentumUpdateOp::body(Body& b, ValueRange x) {
  Prepared p = prepare(*this, b, x, 1);
  Value g = decayed(b, p), momentum = p.own[0];
  Value velocity = b.add(b.mul(momentum, x[2]), g);
  Value direction = getNesterov() ? b.add(g, b.mul(momentum, velocity)) : velocity;
  return {b.sub(p.weight, b.mul(p.rate, direction)), velocity};
}
LogicalResult SgdMomentumUpdateOp::buildGradient(GradientBuilder&) { return failure(); }

Values AdamUpdateOp::body(Body& b, ValueRange x) {
  Prepared p = prepare(*this, b, x, 2);
  Value beta1 = p.own[0], beta2 = p.own[1], epsilon = p.own[2], correction1 = p.own[3], correction2 = p.own[4];
  Value g = getDecoupled() ? p.gradient : decayed(b, p);
  Value mean = average(b, beta1, x[2], g), variance = average(b, beta2, x[3], b.mul(g, g));
  Value direction = b.div(b.div(mean, correction1), b.add(b.sqrt(b.div(variance, correction2)), epsilon));
  if (getDecoupled()) direction = b.add(direction, b.mul(p.decay, p.weight));
  return {b.sub(p.weight, b.mul(p.rate, direction)), mean, variance};
}
LogicalResult AdamUpdateOp::buildGradient(GradientBuilder&) { return failure(); }

Values RmspropUpdateOp::body(Body& b, ValueRange x) {
  Prepared p = prepare(*this, b, x, 1);
  Value g = decayed(b, p), rho = p.own[0], epsilon = p.own[1], square = average(b, rho, x[2], b.mul(g, g));
  return {b.sub(p.weight, b.div(b.mul(p.rate, g), b.add(b.sqrt(square), epsilon))), square};
}
LogicalResult RmspropUpdateOp::buildGradient(GradientBuilder&) { return failure(); }

Values AdagradUpdateOp::body(Body& b, ValueRange x) {
  Prepared p = prepare(*this, b, x, 1);
  Value g = decayed(b, p), epsilon = p.own[0], sum = b.add(x[2], b.mul(g, g));
  return {b.sub(p.weight, b.div(b.mul(p.rate, g), b.add(b.sqrt(sum), epsilon))), sum};
}
LogicalResult AdagradUpdateOp::buildGradient(GradientBuilder&) { return failure(); }

Values AdadeltaUpdateOp::body(Body& b, ValueRange x) {
  Prepared p = prepare(*this, b, x, 2);
  Value g = decayed(b, p), rho = p.own[0], epsilon = p.own[1], square = average(b, rho, x[2], b.mul(g, g));
  Value d = b.mul(b.div(b.sqrt(b.add(x[3], epsilon)), b.sqrt(b.add(square, epsilon))), g);
  return {b.sub(p.weight, b.mul(p.rate, d)), square, average(b, rho, x[3], b.mul(d, d))};
}
LogicalResult AdadeltaUpdateOp::buildGradient(GradientBuilder&) { return failure(); }

Values FtrlUpdateOp::body(Body& b, ValueRange x) {
  Prepared p = prepare(*this, b, x, 2);
  Value g = p.gradient, l1 = p.own[0], beta = p.own[1], zero = b.constant(0, x[2]);
  Value square = b.add(x[3], b.mul(g, g)), root = b.sqrt(square);
  Value z = b.sub(b.add(x[2], g), b.mul(b.div(b.sub(root, b.sqrt(x[3])), p.rate), p.weight));
  Value signedL1 = b.select(b.lt(z, zero), b.neg(l1), l1);
  Value weight = b.div(b.sub(signedL1, z), b.add(b.div(b.add(beta, root), p.rate), p.decay));
  // A NaN in z is no reason for a weight of 0.
  return {b.select(b.le(b.abs(z), l1), zero, weight), z, square};
}
LogicalResult FtrlUpdateOp::buildGradient(GradientBuilder&) { return failure(); }

Values LambDirectionOp::body(Body& b, ValueRange x) {
  Prepared p = prepare(*this, b, x, 2);
  Value beta1 = p.own[0], beta2 = p.own[1], epsilon = p.own[2], correction1 = p.own[3], correction2 = p.own[4], g = p.gradient;
  Value mean = average(b, beta1, x[2], g), variance = average(b, beta2, x[3], b.mul(g, g));
  Value adam = b.div(b.div(mean, correction1), b.add(b.sqrt(b.div(variance, correction2)), epsilon));
  return {b.add(adam, b.mul(p.decay, p.weight)), mean, variance};
}
LogicalResult LambDirectionOp::buildGradient(GradientBuilder&) { return failure(); }

Values LarsUpdateOp::body(Body& b, ValueRange x) {
  Prepared p = prepare(*this, b, x, 1);
  Value momentum = p.own[0], trust = p.own[1];
  Value velocity = b.add(b.mul(momentum, x[2]), b.mul(b.mul(p.rate, trust), decayed(b, p)));
  return {b.sub(p.weight, velocity), velocity};
}
LogicalResult LarsUpdateOp::buildGradient(GradientBuilder&) { return failure(); }

Values PrepareGradientOp::body(Body& b, ValueRange x) { return {rescaledAndClipped(b, x[0], x[1], x[2])}; }
LogicalResult PrepareGradientOp::buildGradient(GradientBuilder&) { return failure(); }

namespace {

// `ratio`, or 1 where a square is not positive.
Value unlessZero(Body& b, Value ratio, Value first, Value second) {
  Value zero = b.constant(0, ratio);
  return b.select(b.logicalAnd(b.gt(first, zero), b.gt(second, zero)), ratio, b.constant(1, ratio));
}

}  // namespace

Values TrustRatioOp::body(Body& b, ValueRange x) { return {unlessZero(b, b.div(b.sqrt(x[0]), b.sqrt(x[1])), x[0], x[1])}; }
LogicalResult TrustRatioOp::buildGradient(GradientBuilder&) { return failure(); }

Values LarsTrustOp::body(Body& b, ValueRange x) {
  Value weight = b.sqrt(x[0]), gradient = b.sqrt(x[1]), decay = scaled(b, x[2], getWdMult().convertToDouble());
  Value ratio = b.div(b.mul(x[3], weight), b.add(b.add(gradient, b.mul(decay, weight)), x[4]));
  return {unlessZero(b, ratio, x[0], x[1])};
}
LogicalResult LarsTrustOp::buildGradient(GradientBuilder&) { return failure(); }

Values ClipNormScaleOp::body(Body& b, ValueRange x) {
  Value norm = b.sqrt(x[0]), clips = b.logicalAnd(b.gt(x[1], b.constant(0, norm)), b.gt(norm, x[1]));
  return {b.select(clips, b.div(x[1], norm), b.constant(1, norm))};
}
LogicalResult ClipNormScaleOp::buildGradient(GradientBuilder&) { return failure(); }

LogicalResult BiasCorrectionOp::inferTypes() {
  FailureOr<TensorType> decay = expectRank(*this, 0, 0), step = expectRank(*this, 1, 0);
  if (failed(decay) || failed(step)) return failure();
  return setResult(*this, 0, *decay), success();
}
LogicalResult BiasCorrectionOp::lower(KernelBuilder& k) { return lowerElementwise(*this, k); }
bool BiasCorrectionOp::canOverwrite(unsigned, unsigned) { return false; }
Values BiasCorrectionOp::body(Body& b, ValueRange x) {
  Value count = b.add(b.cast(x[1], elementType(x[0].getType())), b.constant(1, x[0]));
  return {b.sub(b.constant(1, x[0]), b.pow(x[0], count))};
}
LogicalResult BiasCorrectionOp::buildGradient(GradientBuilder&) { return failure(); }

}  // namespace mxc::mx
