// Bodies and gradients of the elementwise family.
#include "ir/ops/elementwise.h"

#include <cmath>

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "ir/ops/elementwise.cc.inc"

namespace mxc::mx {

void registerFamily_elementwise(MxDialect& dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "ir/ops/elementwise.cc.inc"
      >();
}

Value makeConstant(OpBuilder& builder, Location loc, double value, Type element) {
  return make<ConstantOp>(
      builder, loc, {},
      {builder.getNamedAttr("value", builder.getF64FloatAttr(value)), builder.getNamedAttr("element", TypeAttr::get(element))});
}

Value makeFilled(OpBuilder& builder, Location loc, double value, TensorType type) {
  Value scalar = makeConstant(builder, loc, value, type.getElementType());
  if (type.getRank() == 0) return scalar;
  return make<BroadcastOp>(builder, loc, {scalar}, builder.getNamedAttr("to", TypeAttr::get(plain(type))));
}

namespace {

using Values = SmallVector<Value>;

// The gradient of what is constant between its jumps: zero, also at them.
LogicalResult flat(GradientBuilder& g) { return g.set(0, g.constant(0, g.dy())), success(); }

Value sigmoidOf(Body& b, Value x) { return b.div(b.constant(1, x), b.add(b.constant(1, x), b.exp(b.neg(x)))); }

// max(x, 0) + log1p(exp(-|x|)): neither overflows nor loses small values.
Value softplusOf(Body& b, Value x) { return b.add(b.max(x, b.constant(0, x)), b.log1p(b.exp(b.neg(b.abs(x))))); }

constexpr double kInvSqrt2 = 0.70710678118654752440;
constexpr double kInvSqrt2Pi = 0.39894228040143267794;
constexpr double kTwoOverSqrtPi = 1.12837916709551257390;

// The normal distribution function.
Value phi(GradientBuilder& g, Value x) {
  Value erf = g.make<ErfOp>({g.mul(x, g.constant(kInvSqrt2, x))});
  return g.mul(g.constant(0.5, x), g.add(g.constant(1, x), erf));
}

}  // namespace

// ---- Unary ------------------------------------------------------------------------------------------------------------------
Values NegOp::body(Body& b, ValueRange x) { return {b.neg(x[0])}; }
LogicalResult NegOp::buildGradient(GradientBuilder& g) { return g.set(0, g.neg(g.dy())), success(); }

Values ExpOp::body(Body& b, ValueRange x) { return {b.exp(x[0])}; }
LogicalResult ExpOp::buildGradient(GradientBuilder& g) { return g.set(0, g.mul(g.dy(), getOutput())), success(); }

Values LogOp::body(Body& b, ValueRange x) { return {b.log(x[0])}; }
LogicalResult LogOp::buildGradient(GradientBuilder& g) { return g.set(0, g.div(g.dy(), getInput())), success(); }

Values Log1pOp::body(Body& b, ValueRange x) { return {b.log1p(x[0])}; }
LogicalResult Log1pOp::buildGradient(GradientBuilder& g) {
  return g.set(0, g.div(g.dy(), g.add(g.constant(1, getInput()), getInput()))), success();
}

Values TanhOp::body(Body& b, ValueRange x) { return {b.tanh(x[0])}; }
LogicalResult TanhOp::buildGradient(GradientBuilder& g) {
  Value y = getOutput();
  return g.set(0, g.mul(g.dy(), g.sub(g.constant(1, y), g.mul(y, y)))), success();
}

Values SigmoidOp::body(Body& b, ValueRange x) { return {sigmoidOf(b, x[0])}; }
LogicalResult SigmoidOp::buildGradient(GradientBuilder& g) {
  Value y = getOutput();
  return g.set(0, g.mul(g.dy(), g.mul(y, g.sub(g.constant(1, y), y)))), success();
}

// A NaN stays one.
Values ReluOp::body(Body& b, ValueRange x) { return {b.max(x[0], b.constant(0, x[0]))}; }
LogicalResult ReluOp::buildGradient(GradientBuilder& g) {
  return g.set(0, g.make<PickPositiveOp>({getOutput(), g.dy(), g.constant(0, g.dy())})), success();
}
PaperFacts ReluOp::paperFacts(BackwardReads reads) {
  PaperFacts facts = PaperFacts::unknown((*this)->getResults());
  facts.over = {0};
  facts.readsOperands = reads == BackwardReads::cudnn;
  facts.overGradient = true;
  return facts;
}

Values SoftplusOp::body(Body& b, ValueRange x) { return {softplusOf(b, x[0])}; }
LogicalResult SoftplusOp::buildGradient(GradientBuilder& g) {
  return g.set(0, g.mul(g.dy(), g.make<SigmoidOp>({getInput()}))), success();
}

Values SiluOp::body(Body& b, ValueRange x) { return {b.mul(x[0], sigmoidOf(b, x[0]))}; }
LogicalResult SiluOp::buildGradient(GradientBuilder& g) {
  Value s = g.make<SigmoidOp>({getInput()});
  Value slope = g.mul(s, g.add(g.constant(1, s), g.mul(getInput(), g.sub(g.constant(1, s), s))));
  return g.set(0, g.mul(g.dy(), slope)), success();
}

Values GeluOp::body(Body& b, ValueRange x) {
  Value erf = b.erf(b.mul(x[0], b.constant(kInvSqrt2, x[0])));
  return {b.mul(x[0], b.mul(b.constant(0.5, x[0]), b.add(b.constant(1, x[0]), erf)))};
}
LogicalResult GeluOp::buildGradient(GradientBuilder& g) {
  Value x = getInput();
  Value density = g.mul(g.constant(kInvSqrt2Pi, x), g.make<ExpOp>({g.mul(g.constant(-0.5, x), g.mul(x, x))}));
  return g.set(0, g.mul(g.dy(), g.add(phi(g, x), g.mul(x, density)))), success();
}

Values AbsOp::body(Body& b, ValueRange x) { return {b.abs(x[0])}; }
LogicalResult AbsOp::buildGradient(GradientBuilder& g) {
  Value zero = g.constant(0, g.dy());
  Value negative = g.make<PickPositiveOp>({g.neg(getInput()), g.neg(g.dy()), zero});
  return g.set(0, g.make<PickPositiveOp>({getInput(), g.dy(), negative})), success();
}

Values SqrtOp::body(Body& b, ValueRange x) { return {b.sqrt(x[0])}; }
LogicalResult SqrtOp::buildGradient(GradientBuilder& g) {
  return g.set(0, g.div(g.mul(g.constant(0.5, g.dy()), g.dy()), getOutput())), success();
}

Values RsqrtOp::body(Body& b, ValueRange x) { return {b.rsqrt(x[0])}; }
LogicalResult RsqrtOp::buildGradient(GradientBuilder& g) {
  Value y = getOutput();
  return g.set(0, g.mul(g.mul(g.constant(-0.5, y), g.dy()), g.mul(y, g.mul(y, y)))), success();
}

Values SquareOp::body(Body& b, ValueRange x) { return {b.mul(x[0], x[0])}; }
LogicalResult SquareOp::buildGradient(GradientBuilder& g) {
  return g.set(0, g.mul(g.mul(g.constant(2, g.dy()), g.dy()), getInput())), success();
}

Values SignOp::body(Body& b, ValueRange x) {
  Value zero = b.constant(0, x[0]);
  Value rest = b.select(b.eq(x[0], zero), zero, x[0]);  // 0, or a NaN
  return {b.select(b.gt(x[0], zero), b.constant(1, x[0]), b.select(b.lt(x[0], zero), b.constant(-1, x[0]), rest))};
}
LogicalResult SignOp::buildGradient(GradientBuilder& g) { return flat(g); }

Values FloorOp::body(Body& b, ValueRange x) { return {isFloat(x[0]) ? b.floor(x[0]) : x[0]}; }
LogicalResult FloorOp::buildGradient(GradientBuilder& g) { return flat(g); }

Values CeilOp::body(Body& b, ValueRange x) { return {isFloat(x[0]) ? b.neg(b.floor(b.neg(x[0]))) : x[0]}; }
LogicalResult CeilOp::buildGradient(GradientBuilder& g) { return flat(g); }

// The distance to the number below is exact where it matters. A zero has the sign of x.
Values RoundOp::body(Body& b, ValueRange x) {
  if (!isFloat(x[0])) return {x[0]};
  Value half = b.constant(0.5, x[0]), zero = b.constant(0, x[0]), below = b.floor(x[0]), distance = b.sub(x[0], below);
  Value halved = b.mul(below, half), odd = b.ne(halved, b.floor(halved));
  Value up = b.logicalOr(b.gt(distance, half), b.logicalAnd(b.eq(distance, half), odd));
  Value rounded = b.add(below, b.select(up, b.constant(1, x[0]), zero));
  return {b.select(b.eq(rounded, zero), b.mul(x[0], zero), rounded)};
}
LogicalResult RoundOp::buildGradient(GradientBuilder& g) { return flat(g); }

Values ErfOp::body(Body& b, ValueRange x) { return {b.erf(x[0])}; }
LogicalResult ErfOp::buildGradient(GradientBuilder& g) {
  Value x = getInput();
  Value slope = g.mul(g.constant(kTwoOverSqrtPi, x), g.make<ExpOp>({g.neg(g.mul(x, x))}));
  return g.set(0, g.mul(g.dy(), slope)), success();
}

Values SinOp::body(Body& b, ValueRange x) { return {b.sin(x[0])}; }
LogicalResult SinOp::buildGradient(GradientBuilder& g) { return g.set(0, g.mul(g.dy(), g.make<CosOp>({getInput()}))), success(); }

Values CosOp::body(Body& b, ValueRange x) { return {b.cos(x[0])}; }
LogicalResult CosOp::buildGradient(GradientBuilder& g) {
  return g.set(0, g.neg(g.mul(g.dy(), g.make<SinOp>({getInput()})))), success();
}

Values StopGradientOp::body(Body& b, ValueRange x) { return {x[0]}; }
LogicalResult StopGradientOp::buildGradient(GradientBuilder& g) { return success(); }

Values LeakyReluOp::body(Body& b, ValueRange x) {
  Value slope = b.constant(getSlope().convertToDouble(), x[0]);
  return {b.select(b.gt(x[0], b.constant(0, x[0])), x[0], b.mul(slope, x[0]))};
}
LogicalResult LeakyReluOp::buildGradient(GradientBuilder& g) {
  Value slope = g.constant(getSlope().convertToDouble(), g.dy());
  return g.set(0, g.make<PickPositiveOp>({getInput(), g.dy(), g.mul(slope, g.dy())})), success();
}

Values EluOp::body(Body& b, ValueRange x) {
  Value alpha = b.constant(getAlpha().convertToDouble(), x[0]);
  Value low = b.mul(alpha, b.sub(b.exp(x[0]), b.constant(1, x[0])));
  return {b.select(b.gt(x[0], b.constant(0, x[0])), x[0], low)};
}
LogicalResult EluOp::buildGradient(GradientBuilder& g) {
  Value low = g.mul(g.dy(), g.add(getOutput(), g.constant(getAlpha().convertToDouble(), g.dy())));
  return g.set(0, g.make<PickPositiveOp>({getInput(), g.dy(), low})), success();
}

// ---- Binary -----------------------------------------------------------------------------------------------------------------
Values AddOp::body(Body& b, ValueRange x) { return {b.add(x[0], x[1])}; }
LogicalResult AddOp::buildGradient(GradientBuilder& g) {
  for (unsigned i : {0u, 1u})
    if (g.wants(i)) g.set(i, g.dy());
  return success();
}
// Each gradient is that of the result.
PaperFacts AddOp::paperFacts(BackwardReads) {
  PaperFacts facts = PaperFacts::linear((*this)->getResults());
  facts.over = {0, 1};
  facts.overGradient = true;
  return facts;
}

Values SubOp::body(Body& b, ValueRange x) { return {b.sub(x[0], x[1])}; }
LogicalResult SubOp::buildGradient(GradientBuilder& g) {
  if (g.wants(0)) g.set(0, g.dy());
  if (g.wants(1)) g.set(1, g.neg(g.dy()));
  return success();
}

Values MulOp::body(Body& b, ValueRange x) { return {b.mul(x[0], x[1])}; }
LogicalResult MulOp::buildGradient(GradientBuilder& g) {
  if (g.wants(0)) g.set(0, g.mul(g.dy(), getB()));
  if (g.wants(1)) g.set(1, g.mul(g.dy(), getA()));
  return success();
}

Values DivOp::body(Body& b, ValueRange x) { return {b.div(x[0], x[1])}; }
LogicalResult DivOp::buildGradient(GradientBuilder& g) {
  if (g.wants(0)) g.set(0, g.div(g.dy(), getB()));
  if (g.wants(1)) g.set(1, g.neg(g.div(g.mul(g.dy(), getOutput()), getB())));
  return success();
}

// By squaring, one bit of the exponent after the other.
static Value powerOfIntegers(Body& b, Value a, Value exponent) {
  b.match(a, exponent);
  Value zero = b.constant(0, a), one = b.constant(1, a), minusOne = b.constant(-1, a);
  auto isOdd = [&](Value x) { return b.ne(b.builder.create<arith::AndIOp>(b.loc, x, one), zero); };
  Value result = one, square = a, bits = exponent;
  for (unsigned bit = 0; bit + 1 < elementType(a.getType()).getIntOrFloatBitWidth(); ++bit) {
    if (bit > 0) {
      square = b.mul(square, square);
      bits = b.builder.create<arith::ShRUIOp>(b.loc, bits, one);
    }
    result = b.select(isOdd(bits), b.mul(result, square), result);
  }
  Value ofMinusOne = b.select(isOdd(exponent), minusOne, one);
  Value inverse = b.select(b.eq(a, one), one, b.select(b.eq(a, minusOne), ofMinusOne, zero));
  return b.select(b.lt(exponent, zero), inverse, result);
}

Values PowOp::body(Body& b, ValueRange x) { return {isFloat(x[0]) ? b.pow(x[0], x[1]) : powerOfIntegers(b, x[0], x[1])}; }
LogicalResult PowOp::buildGradient(GradientBuilder& g) {
  Value a = getA(), exponent = getB();
  if (g.wants(0)) {
    // Of a to the 0 it is 0, also where a is: 0 times a to the 0.
    Value less = g.make<NotEqualOp>({exponent, g.constant(0, exponent)});
    Value lower = g.make<PowOp>({a, g.sub(exponent, less)});
    g.set(0, g.mul(g.dy(), g.mul(exponent, lower)));
  }
  if (g.wants(1)) g.set(1, g.mul(g.dy(), g.mul(getOutput(), g.make<LogOp>({a}))));
  return success();
}

// The remainder of the division that rounds towards zero; where its sign is not that of b, b more.
Values ModuloOp::body(Body& b, ValueRange x) {
  Value dividend = x[0], divisor = x[1];
  b.match(dividend, divisor);
  Value zero = b.constant(0, divisor);
  bool isWhole = !isFloat(divisor);
  Value rest = isWhole ? b.sub(dividend, b.mul(b.div(dividend, divisor), divisor))
                       : Value(b.builder.create<arith::RemFOp>(b.loc, dividend, divisor));
  Value negative = b.lt(divisor, zero);
  Value moved = b.select(b.ne(b.lt(rest, zero), negative), b.add(rest, divisor), rest);
  Value none = isWhole ? zero : b.select(negative, b.constant(-0.0, divisor), zero);
  Value result = b.select(b.eq(rest, zero), none, moved);
  return {isWhole ? b.select(b.eq(divisor, zero), zero, result) : result};
}
LogicalResult ModuloOp::buildGradient(GradientBuilder& g) {
  if (g.wants(0)) g.set(0, g.dy());
  if (g.wants(1)) g.set(1, g.neg(g.mul(g.dy(), g.make<FloorOp>({g.div(getA(), getB())}))));
  return success();
}

Values MaximumOp::body(Body& b, ValueRange x) { return {b.max(x[0], x[1])}; }
LogicalResult MaximumOp::buildGradient(GradientBuilder& g) {
  Value zero = g.constant(0, g.dy()), loses = g.sub(getB(), getA());
  if (g.wants(0)) g.set(0, g.make<PickPositiveOp>({loses, zero, g.dy()}));
  if (g.wants(1)) g.set(1, g.make<PickPositiveOp>({loses, g.dy(), zero}));
  return success();
}

Values MinimumOp::body(Body& b, ValueRange x) { return {b.min(x[0], x[1])}; }
LogicalResult MinimumOp::buildGradient(GradientBuilder& g) {
  Value zero = g.constant(0, g.dy()), loses = g.sub(getA(), getB());
  if (g.wants(0)) g.set(0, g.make<PickPositiveOp>({loses, zero, g.dy()}));
  if (g.wants(1)) g.set(1, g.make<PickPositiveOp>({loses, g.dy(), zero}));
  return success();
}

LogicalResult ClipOp::inferTypes() {
  double low = getLow().convertToDouble(), high = getHigh().convertToDouble();
  if (!(low <= high)) return emitOpError() << "needs low <= high, got " << llvm::formatv("{0} and {1}", low, high).str();
  return inferElementwise(*this);
}
Values ClipOp::body(Body& b, ValueRange x) {
  return {b.min(b.max(x[0], b.constant(getLow().convertToDouble(), x[0])), b.constant(getHigh().convertToDouble(), x[0]))};
}
LogicalResult ClipOp::buildGradient(GradientBuilder& g) {
  Value x = getInput(), low = g.constant(getLow().convertToDouble(), x), high = g.constant(getHigh().convertToDouble(), x);
  Value inside = g.mul(g.make<GreaterEqualOp>({x, low}), g.make<LessEqualOp>({x, high}));
  return g.set(0, g.make<WhereOp>({inside, g.dy(), g.constant(0, g.dy())})), success();
}

LogicalResult WhereOp::inferTypes() {
  FailureOr<TensorType> condition = expectRank(*this, 0, -1), a = expectRank(*this, 1, -1), b = expectRank(*this, 2, -1);
  if (failed(condition) || failed(a) || failed(b)) return failure();
  if (a->getElementType() != b->getElementType())
    return emitOpError() << "mixes element types " << a->getElementType() << " and " << b->getElementType();
  FailureOr<TensorType> both = broadcast(*this, *a, *b);
  if (failed(both)) return failure();
  FailureOr<TensorType> all = broadcast(*this, *both, *condition);
  if (failed(all)) return failure();
  return setResult(*this, 0, *all), success();
}
LogicalResult WhereOp::lower(KernelBuilder& k) { return lowerElementwise(*this, k); }
bool WhereOp::canOverwrite(unsigned operand, unsigned result) { return sameStorage(*this, operand, result); }
Values WhereOp::body(Body& b, ValueRange x) { return {b.select(b.ne(x[0], b.constant(0, x[0])), x[1], x[2])}; }
LogicalResult WhereOp::buildGradient(GradientBuilder& g) {
  Value zero = g.constant(0, g.dy());
  if (g.wants(1)) g.set(1, g.make<WhereOp>({getCondition(), g.dy(), zero}));
  if (g.wants(2)) g.set(2, g.make<WhereOp>({getCondition(), zero, g.dy()}));
  return success();
}

// ---- Comparisons and logic ----------------------------------------------------------------------------------------------------
namespace {

// 1 or 0 in the element type of `like`.
Values truth(Body& b, Value condition, Value like) { return {b.select(condition, b.constant(1, like), b.constant(0, like))}; }
Value isTrue(Body& b, Value x) { return b.ne(x, b.constant(0, x)); }

}  // namespace

Values EqualOp::body(Body& b, ValueRange x) { return truth(b, b.eq(x[0], x[1]), x[0]); }
LogicalResult EqualOp::buildGradient(GradientBuilder&) { return success(); }
Values NotEqualOp::body(Body& b, ValueRange x) { return truth(b, b.ne(x[0], x[1]), x[0]); }
LogicalResult NotEqualOp::buildGradient(GradientBuilder&) { return success(); }
Values LessOp::body(Body& b, ValueRange x) { return truth(b, b.lt(x[0], x[1]), x[0]); }
LogicalResult LessOp::buildGradient(GradientBuilder&) { return success(); }
Values LessEqualOp::body(Body& b, ValueRange x) { return truth(b, b.le(x[0], x[1]), x[0]); }
LogicalResult LessEqualOp::buildGradient(GradientBuilder&) { return success(); }
Values GreaterOp::body(Body& b, ValueRange x) { return truth(b, b.gt(x[0], x[1]), x[0]); }
LogicalResult GreaterOp::buildGradient(GradientBuilder&) { return success(); }
Values GreaterEqualOp::body(Body& b, ValueRange x) { return truth(b, b.ge(x[0], x[1]), x[0]); }
LogicalResult GreaterEqualOp::buildGradient(GradientBuilder&) { return success(); }
Values LogicalAndOp::body(Body& b, ValueRange x) { return truth(b, b.logicalAnd(isTrue(b, x[0]), isTrue(b, x[1])), x[0]); }
LogicalResult LogicalAndOp::buildGradient(GradientBuilder&) { return success(); }
Values LogicalOrOp::body(Body& b, ValueRange x) { return truth(b, b.logicalOr(isTrue(b, x[0]), isTrue(b, x[1])), x[0]); }
LogicalResult LogicalOrOp::buildGradient(GradientBuilder&) { return success(); }
Values LogicalXorOp::body(Body& b, ValueRange x) { return truth(b, b.ne(isTrue(b, x[0]), isTrue(b, x[1])), x[0]); }
LogicalResult LogicalXorOp::buildGradient(GradientBuilder&) { return success(); }
Values LogicalNotOp::body(Body& b, ValueRange x) { return truth(b, b.eq(x[0], b.constant(0, x[0])), x[0]); }
LogicalResult LogicalNotOp::buildGradient(GradientBuilder&) { return success(); }

// ---- Built by gradients and passes -----------------------------------------------------------------------------------------
LogicalResult ConstantOp::inferTypes() { return setResult(*this, 0, tensorType({}, getElement())), success(); }
LogicalResult ConstantOp::lower(KernelBuilder& k) { return lowerElementwise(*this, k); }
bool ConstantOp::canOverwrite(unsigned, unsigned) { return false; }
Values ConstantOp::body(Body& b, ValueRange) { return {b.constant(getValue().convertToDouble(), getElement())}; }
LogicalResult ConstantOp::buildGradient(GradientBuilder&) { return success(); }

LogicalResult BroadcastOp::inferTypes() {
  FailureOr<TensorType> from = expectRank(*this, 0, -1);
  if (failed(from)) return failure();
  auto to = cast<RankedTensorType>(getTo());
  FailureOr<TensorType> both = broadcast(*this, *from, to);
  if (failed(both)) return failure();
  if (both->getShape() != to.getShape()) return emitOpError() << "cannot spread " << shapeText(*from) << " to " << shapeText(to);
  return setResult(*this, 0, to), success();
}
LogicalResult BroadcastOp::lower(KernelBuilder& k) { return lowerElementwise(*this, k); }
bool BroadcastOp::canOverwrite(unsigned operand, unsigned result) { return sameStorage(*this, operand, result); }
Values BroadcastOp::body(Body& b, ValueRange x) { return {x[0]}; }
LogicalResult BroadcastOp::buildGradient(GradientBuilder& g) { return g.set(0, g.dy()), success(); }

LogicalResult CastOp::inferTypes() {
  FailureOr<TensorType> from = expectRank(*this, 0, -1);
  if (failed(from)) return failure();
  return setResult(*this, 0, withElement(*from, getTo())), success();
}
LogicalResult CastOp::lower(KernelBuilder& k) { return lowerElementwise(*this, k); }
bool CastOp::canOverwrite(unsigned operand, unsigned result) { return sameStorage(*this, operand, result); }
Values CastOp::body(Body& b, ValueRange x) { return {b.cast(x[0], getTo())}; }
LogicalResult CastOp::buildGradient(GradientBuilder& g) {
  Type from = rankedType(getInput()).getElementType();
  if (!isa<FloatType>(from)) return success();
  return g.set(0, g.make<CastOp>({g.dy()}, g.builder.getNamedAttr("to", TypeAttr::get(from)))), success();
}

Values PickPositiveOp::body(Body& b, ValueRange x) { return {b.select(b.gt(x[0], b.constant(0, x[0])), x[1], x[2])}; }
LogicalResult PickPositiveOp::buildGradient(GradientBuilder& g) {
  Value zero = g.constant(0, g.dy());
  if (g.wants(1)) g.set(1, g.make<PickPositiveOp>({getX(), g.dy(), zero}));
  if (g.wants(2)) g.set(2, g.make<PickPositiveOp>({getX(), zero, g.dy()}));
  return success();
}

Values DivByCountOp::body(Body& b, ValueRange x) {
  Value count = b.constant(static_cast<double>(getPerSample()), b.builder.getI64Type());
  if (getBatched()) count = b.mul(count, b.batch());
  return {b.div(x[0], b.cast(count, elementType(x[0].getType())))};
}
LogicalResult DivByCountOp::buildGradient(GradientBuilder& g) {
  return g.set(0, g.make<DivByCountOp>({g.dy()}, (*this)->getAttrs())), success();
}

// ---- Folding: only what leaves every bit of the result as it was --------------------------------------------------------------
namespace {

// Whether `value` is everywhere `number`.
bool isEverywhere(Value value, double number) {
  while (auto spread = value.getDefiningOp<BroadcastOp>()) value = spread.getInput();
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant && constant.getValue().convertToDouble() == number &&
         std::signbit(constant.getValue().convertToDouble()) == std::signbit(number);
}

// `kept`, if it can stand for the result of `op` because `other` is neutral.
OpFoldResult unlessNeutral(Operation* op, Value kept, Value other, double neutral) {
  if (kept.getType() == op->getResult(0).getType() && isEverywhere(other, neutral)) return kept;
  return {};
}

OpFoldResult sameType(Operation* op) {
  if (op->getOperand(0).getType() == op->getResult(0).getType()) return op->getOperand(0);
  return {};
}

}  // namespace

OpFoldResult NegOp::fold(FoldAdaptor) {
  auto inner = getInput().getDefiningOp<NegOp>();
  return inner && inner.getInput().getType() == getType() ? OpFoldResult(inner.getInput()) : OpFoldResult();
}
OpFoldResult StopGradientOp::fold(FoldAdaptor) { return sameType(*this); }
// x + 0 is not x for x = -0, but x + -0 is.
OpFoldResult AddOp::fold(FoldAdaptor) {
  if (OpFoldResult kept = unlessNeutral(*this, getA(), getB(), -0.0)) return kept;
  return unlessNeutral(*this, getB(), getA(), -0.0);
}
OpFoldResult SubOp::fold(FoldAdaptor) { return unlessNeutral(*this, getA(), getB(), 0.0); }
OpFoldResult MulOp::fold(FoldAdaptor) {
  if (OpFoldResult kept = unlessNeutral(*this, getA(), getB(), 1.0)) return kept;
  return unlessNeutral(*this, getB(), getA(), 1.0);
}
OpFoldResult DivOp::fold(FoldAdaptor) { return unlessNeutral(*this, getA(), getB(), 1.0); }
OpFoldResult DivByCountOp::fold(FoldAdaptor) { return !getBatched() && getPerSample() == 1 ? sameType(*this) : OpFoldResult(); }
OpFoldResult CastOp::fold(FoldAdaptor) { return sameType(*this); }
// What is spread twice is spread once; broadcasting aligns axes at the end, so that the way makes no difference. Nor does the shape of
// a single element.
OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  if (OpFoldResult same = sameType(*this)) return same;
  Operation* inner = getInput().getDefiningOp();
  bool spread = isa_and_nonnull<BroadcastOp>(inner);
  bool single = isa_and_nonnull<ViewRules>(inner) && rankedType(inner->getOperand(0)).getRank() == 0;
  if (!spread && !single) return {};
  getInputMutable().assign(inner->getOperand(0));
  return getOutput();
}

}  // namespace mxc::mx
