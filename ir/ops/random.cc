// Each element makes its own draw, from its logical number.
#include "ir/ops/random.h"

#include "ir/philox.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "ir/ops/random.cc.inc"

namespace mxc::mx {

void registerFamily_random(MxDialect& dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "ir/ops/random.cc.inc"
      >();
}

namespace {

PhiloxKey keyOf(KernelBuilder& k, Value seed, Value step, int64_t stream) {
  Value seedNumber = k.load(seed, {}), stepNumber = step ? k.load(step, {}) : Value();
  Body b = k.body();
  return philoxKey(b, seedNumber, stepNumber, stream);
}

// The largest number of a floating type that is less than `x`.
double largestBelow(double x, Type element) {
  APFloat number(x);
  bool inexact;
  number.convert(cast<FloatType>(element).getFloatSemantics(), APFloat::rmTowardNegative, &inexact);
  if (!inexact) number.next(/*nextDown=*/true);
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &inexact);
  return number.convertToDouble();
}

}  // namespace

LogicalResult RandomUniformOp::inferTypes() { return setResult(*this, 0, cast<RankedTensorType>(getTo())), success(); }
LogicalResult RandomUniformOp::buildGradient(GradientBuilder&) { return success(); }
bool RandomUniformOp::canOverwrite(unsigned, unsigned) { return false; }
// Rounding may make `high` of a number below it: that becomes the largest number below it.
LogicalResult RandomUniformOp::lower(KernelBuilder& k) {
  Type element = rankedType(getOutput()).getElementType();
  k.forall(getOutput(), [&](At p) {
    PhiloxKey key = keyOf(k, getSeed(), getStep(), getStream());
    Value number = k.elementNumber(getOutput(), p);
    Body b = k.body();
    double low = getLow().convertToDouble(), high = getHigh().convertToDouble();
    Value scaled = b.mul(randomUniform(b, key, number, element), b.constant(high - low, element));
    Value shifted = b.add(scaled, b.constant(low, element));
    k.store(getOutput(), p, b.min(shifted, b.constant(largestBelow(high, element), element)));
  });
  return success();
}

LogicalResult RandomNormalOp::inferTypes() { return setResult(*this, 0, cast<RankedTensorType>(getTo())), success(); }
LogicalResult RandomNormalOp::buildGradient(GradientBuilder&) { return success(); }
bool RandomNormalOp::canOverwrite(unsigned, unsigned) { return false; }
LogicalResult RandomNormalOp::lower(KernelBuilder& k) {
  Type element = rankedType(getOutput()).getElementType();
  k.forall(getOutput(), [&](At p) {
    PhiloxKey key = keyOf(k, getSeed(), getStep(), getStream());
    Value number = k.elementNumber(getOutput(), p);
    Body b = k.body();
    Value scaled = b.mul(randomNormal(b, key, number, element), b.constant(getDeviation().convertToDouble(), element));
    k.store(getOutput(), p, b.add(scaled, b.constant(getMean().convertToDouble(), element)));
  });
  return success();
}

LogicalResult RandomDrawOp::inferTypes() { return setResult(*this, 0, cast<RankedTensorType>(getTo())), success(); }
LogicalResult RandomDrawOp::buildGradient(GradientBuilder&) { return success(); }
bool RandomDrawOp::canOverwrite(unsigned, unsigned) { return false; }
LogicalResult RandomDrawOp::lower(KernelBuilder& k) {
  Type element = rankedType(getOutput()).getElementType();
  k.forall(getOutput(), [&](At p) {
    PhiloxKey key = {k.load(getKey(), {Index(0)}), k.load(getKey(), {Index(1)})};
    Value first = k.load(getFirst(), {}), place = k.elementNumber(getOutput(), p);
    Body b = k.body();
    Value number = b.add(place, first);
    k.store(getOutput(), p, getNormal() ? randomNormal(b, key, number, element) : randomUniform(b, key, number, element));
  });
  return success();
}

LogicalResult DropoutOp::inferTypes() {
  double rate = getRate().convertToDouble();
  if (!(rate >= 0 && rate < 1)) return emitOpError() << "needs a rate in [0, 1), got " << llvm::formatv("{0:F3}", rate).str();
  FailureOr<TensorType> type = expectRank(*this, 0, -1);
  if (failed(type)) return failure();
  return setResult(*this, 0, plain(*type)), success();
}
LogicalResult DropoutOp::buildGradient(GradientBuilder&) { return failure(); }
LogicalResult DropoutOp::lower(KernelBuilder&) { return failure(); }
// The mask is written and read back, or made again from its counter.
PaperFacts DropoutOp::paperFacts(BackwardReads reads) {
  PaperFacts facts = PaperFacts::view((*this)->getResults());
  if (reads == BackwardReads::minimal) return facts;
  facts.writes.push_back(facts.writes[0]);
  facts.readsWrites = {1};
  return facts;
}
bool DropoutOp::canOverwrite(unsigned, unsigned) { return false; }

FailureOr<SmallVector<Value>> DropoutOp::buildForMode(ModeBuilder& m) {
  OpBuilder& b = m.builder;
  int64_t stream = m.nextStream();
  if (!m.training || getRate().isZero()) return SmallVector<Value>{getInput()};
  return SmallVector<Value>{make<DropoutApplyOp>(b, m.loc, {getInput(), m.seed, m.step},
                                                 {b.getNamedAttr("rate", getRateAttr()), b.getNamedAttr("stream", b.getI64IntegerAttr(stream))})};
}

LogicalResult DropoutApplyOp::inferTypes() {
  FailureOr<TensorType> type = expectRank(*this, 0, -1);
  if (failed(type)) return failure();
  return setResult(*this, 0, plain(*type)), success();
}
// Linear in its input, by a diagonal matrix: the gradient is the op itself.
LogicalResult DropoutApplyOp::buildGradient(GradientBuilder& g) {
  if (g.wants(0)) g.set(0, g.make<DropoutApplyOp>({g.dy(), getSeed(), getStep()}, (*this)->getAttrs()));
  return success();
}
LogicalResult DropoutApplyOp::lower(KernelBuilder& k) {
  Type element = rankedType(getInput()).getElementType();
  k.forall(getOutput(), [&](At p) {
    PhiloxKey key = keyOf(k, getSeed(), getStep(), getStream());
    Value number = k.elementNumber(getOutput(), p);
    Value x = k.load(getInput(), p);
    Body b = k.body();
    double rate = getRate().convertToDouble();
    Value kept = b.ge(randomUniform(b, key, number, element), b.constant(rate, element));
    Value scaled = b.mul(x, b.constant(1 / (1 - rate), element));
    k.store(getOutput(), p, b.select(kept, scaled, b.constant(0, element)));
  });
  return success();
}
bool DropoutApplyOp::canOverwrite(unsigned operand, unsigned result) { return operand == 0 && sameStorage(*this, 0, result); }

}  // namespace mxc::mx
