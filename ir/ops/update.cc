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

template <typename OpType>
Prepared prepare(OpType op, Body& b, ValueRange x, unsigned states) {
  ValueRange hypers = x.drop_front(2 + states);
  Value g = b.mul(x[1], hypers[2]), clip = hypers[3];
  Value clipped = b.min(b.max(g, b.neg(clip)), clip);
  g = b.select(b.gt(clip, b.constant(0, clip)), clipped, g);
  return {x[0], g, scaled(b, hypers[0], op.getLrMult().convertToDouble()), scaled(b, hypers[1], op.getWdMult().convertToDouble()),
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
