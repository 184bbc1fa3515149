// A metric of the batch is written as means over its samples and a function of those means.
#include "ir/ops/metric.h"

#include "ir/ops/elementwise.h"
#include "ir/ops/index.h"
#include "ir/ops/loss.h"
#include "ir/ops/reduce.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "ir/ops/metric.cc.inc"

namespace mxc::mx {

void registerFamily_metric(MxDialect& dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "ir/ops/metric.cc.inc"
      >();
}

namespace {

constexpr double kTiny = 1e-30;  // below any quotient that is not 0 / 0

Arithmetic arithmeticOf(Operation* op, OpBuilder& b) { return {b, op->getLoc(), rankedType(op->getOperand(0)).getElementType()}; }

// 0 where both are 0.
Value quotient(const Arithmetic& a, Value x, Value y) { return a.div(x, make<MaximumOp>(a.b, a.loc, {y, a.number(kTiny)})); }
Value mean(const Arithmetic& a, Value x) { return make<ReduceMeanOp>(a.b, a.loc, {x}); }

// How often a row is positive, is predicted so, and both; as fractions of the samples.
struct Fractions {
  Value positive, predicted, both;
};
template <typename OpType>
Fractions fractionsOf(OpType op, const Arithmetic& a) {
  auto isPositive = [&](Value places) {
    Value which = makeConstant(a.b, a.loc, static_cast<double>(op.getPositive()), rankedType(places).getElementType());
    return make<CastOp>(a.b, a.loc, {make<EqualOp>(a.b, a.loc, {places, which})}, a.b.getNamedAttr("to", TypeAttr::get(a.element)));
  };
  Value largest = make<ArgMaxOp>(a.b, a.loc, {op.getLogits()}, a.b.getNamedAttr("axis", a.b.getI64IntegerAttr(1)));
  Value predicted = isPositive(largest), positive = isPositive(op.getLabel());
  return {mean(a, positive), mean(a, predicted), mean(a, a.mul(predicted, positive))};
}

template <typename OpType>
LogicalResult inferBinary(OpType op) {
  FailureOr<TensorType> row = typePerRow(op);
  if (failed(row)) return failure();
  int64_t classes = rankedType(op.getLogits()).getDimSize(1), positive = op.getPositive();
  if (positive < 0 || positive >= classes) return op.emitOpError() << "needs positive in [0, " << classes << "), got " << positive;
  return setResult(op, 0, tensorType({}, row->getElementType())), success();
}

}  // namespace

LogicalResult RmseOp::inferTypes() {
  FailureOr<TensorType> row = typePerPair(*this);
  if (failed(row)) return failure();
  return setResult(*this, 0, tensorType({}, row->getElementType())), success();
}
SmallVector<Value> RmseOp::decompose(OpBuilder& b) {
  Arithmetic a = arithmeticOf(*this, b);
  return {make<SqrtOp>(b, a.loc, {mean(a, make<MseLossOp>(b, a.loc, {getPrediction(), getTarget()}))})};
}

LogicalResult PerplexityOp::inferTypes() {
  FailureOr<TensorType> row = typePerRow(*this);
  if (failed(row)) return failure();
  return setResult(*this, 0, tensorType({}, row->getElementType())), success();
}
SmallVector<Value> PerplexityOp::decompose(OpBuilder& b) {
  Arithmetic a = arithmeticOf(*this, b);
  SmallVector<NamedAttribute> attributes;
  if (getIgnoreLabel()) attributes.push_back(b.getNamedAttr("ignore_label", getIgnoreLabelAttr()));
  Value loss = mean(a, make<SoftmaxCrossEntropyOp>(b, a.loc, {getLogits(), getLabel()}, attributes));
  if (getIgnoreLabel()) {
    Value mask = countedRows(b, a.loc, getLabel(), rankedType(getLogits()).getDimSize(1), *getIgnoreLabel(), a.element);
    loss = quotient(a, loss, mean(a, mask));
  }
  return {make<ExpOp>(b, a.loc, {loss})};
}

LogicalResult F1ScoreOp::inferTypes() { return inferBinary(*this); }
SmallVector<Value> F1ScoreOp::decompose(OpBuilder& b) {
  Arithmetic a = arithmeticOf(*this, b);
  Fractions f = fractionsOf(*this, a);
  return {quotient(a, a.add(f.both, f.both), a.add(f.positive, f.predicted))};
}

// In fractions p = positive, q = predicted: (both - p q) / sqrt(p (1 - p) q (1 - q)).
LogicalResult MccOp::inferTypes() { return inferBinary(*this); }
SmallVector<Value> MccOp::decompose(OpBuilder& b) {
  Arithmetic a = arithmeticOf(*this, b);
  Fractions f = fractionsOf(*this, a);
  auto spread = [&](Value x) { return a.mul(x, a.sub(a.number(1), x)); };
  Value deviation = make<SqrtOp>(b, a.loc, {a.mul(spread(f.positive), spread(f.predicted))});
  return {quotient(a, a.sub(f.both, a.mul(f.positive, f.predicted)), deviation)};
}

}  // namespace mxc::mx
