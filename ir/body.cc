// Body: one arith or math op per function, after making the operands' shapes equal.
#include "ir/body.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace mxc {
namespace {

Type withElement(Type like, Type element) {
  if (auto v = dyn_cast<VectorType>(like)) return VectorType::get(v.getShape(), element);
  return element;
}

// True is 1, not -1.
arith::CmpIPredicate unsignedPredicate(arith::CmpIPredicate predicate) {
  switch (predicate) {
    case arith::CmpIPredicate::slt: return arith::CmpIPredicate::ult;
    case arith::CmpIPredicate::sle: return arith::CmpIPredicate::ule;
    case arith::CmpIPredicate::sgt: return arith::CmpIPredicate::ugt;
    case arith::CmpIPredicate::sge: return arith::CmpIPredicate::uge;
    default: return predicate;
  }
}

bool isBoolean(Value v) { return elementType(v.getType()).isInteger(1); }

// Whether it is an f16 that has been made f32 to compute with.
bool isWidenedHalf(Value v) {
  if (auto spread = v.getDefiningOp<vector::BroadcastOp>()) v = spread.getSource();
  auto wide = v.getDefiningOp<arith::ExtFOp>();
  return wide && elementType(wide.getIn().getType()).isF16();
}

// LLVM 19 makes the largest of two widened numbers that is then narrowed one of f16, and on x86-64 that loses NaN against a zero where it is a
// vector. It does not look through a select.
Value keptWide(OpBuilder& builder, Location loc, Value a, Value b, Value chosen) {
  if (!isWidenedHalf(a) && !isWidenedHalf(b)) return chosen;
  Value unordered = builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, a, b);
  return builder.create<arith::SelectOp>(loc, unordered, builder.create<arith::AddFOp>(loc, a, b), chosen);
}

}  // namespace

Type elementType(Type type) { return getElementTypeOrSelf(type); }

Type valueType(Type element) {
  if (element.isUnsignedInteger()) return IntegerType::get(element.getContext(), 32);
  if (element.isF16() || element.isBF16()) return Float32Type::get(element.getContext());
  return element;
}

Value Body::splatLike(Value a, Value like) {
  auto v = dyn_cast<VectorType>(like.getType());
  if (!v || isa<VectorType>(a.getType())) return a;
  return builder.create<vector::BroadcastOp>(loc, VectorType::get(v.getShape(), a.getType()), a);
}

void Body::match(Value& a, Value& b) {
  a = splatLike(a, b);
  b = splatLike(b, a);
}

Value Body::constant(double value, Value like) {
  Type element = elementType(like.getType());
  TypedAttr attr = isa<FloatType>(element) ? TypedAttr(builder.getFloatAttr(element, value))
                                           : TypedAttr(builder.getIntegerAttr(element, static_cast<int64_t>(value)));
  if (auto v = dyn_cast<VectorType>(like.getType())) attr = DenseElementsAttr::get(v, Attribute(attr));
  return builder.create<arith::ConstantOp>(loc, attr);
}

Value Body::constant(double value, Type element) {
  element = valueType(element);
  TypedAttr attr = isa<FloatType>(element) ? TypedAttr(builder.getFloatAttr(element, value))
                                           : TypedAttr(builder.getIntegerAttr(element, static_cast<int64_t>(value)));
  return builder.create<arith::ConstantOp>(loc, attr);
}

template <typename FloatOp, typename IntOp>
Value Body::binary(Value a, Value b) {
  match(a, b);
  if (isFloat(a)) return builder.create<FloatOp>(loc, a, b);
  return builder.create<IntOp>(loc, a, b);
}

Value Body::add(Value a, Value b) { return isBoolean(a) ? logicalOr(a, b) : binary<arith::AddFOp, arith::AddIOp>(a, b); }
Value Body::sub(Value a, Value b) { return binary<arith::SubFOp, arith::SubIOp>(a, b); }
Value Body::mul(Value a, Value b) { return binary<arith::MulFOp, arith::MulIOp>(a, b); }
Value Body::max(Value a, Value b) {
  if (isBoolean(a)) return logicalOr(a, b);
  match(a, b);
  return keptWide(builder, loc, a, b, binary<arith::MaximumFOp, arith::MaxSIOp>(a, b));
}
Value Body::min(Value a, Value b) {
  if (isBoolean(a)) return logicalAnd(a, b);
  match(a, b);
  return keptWide(builder, loc, a, b, binary<arith::MinimumFOp, arith::MinSIOp>(a, b));
}

// The instruction must see neither 0 nor -1: the least integer has no negative.
Value Body::div(Value a, Value b) {
  match(a, b);
  if (isFloat(a)) return builder.create<arith::DivFOp>(loc, a, b);
  Value zero = constant(0, b), isZero = eq(b, zero), isMinusOne = eq(b, constant(-1, b));
  Value divisor = select(logicalOr(isZero, isMinusOne), constant(1, b), b);
  Value quotient = builder.create<arith::DivSIOp>(loc, a, divisor);
  return select(isZero, zero, select(isMinusOne, sub(zero, a), quotient));
}

Value Body::neg(Value a) {
  if (isFloat(a)) return builder.create<arith::NegFOp>(loc, a);
  return sub(constant(0, a), a);
}

Value Body::fma(Value a, Value b, Value c) {
  match(a, b);
  match(a, c);
  match(b, c);
  return builder.create<math::FmaOp>(loc, a, b, c);
}

Value Body::abs(Value a) {
  if (isFloat(a)) return builder.create<math::AbsFOp>(loc, a);
  return builder.create<math::AbsIOp>(loc, a);
}

Value Body::exp(Value a) { return builder.create<math::ExpOp>(loc, a); }
Value Body::log(Value a) { return builder.create<math::LogOp>(loc, a); }
Value Body::log1p(Value a) { return builder.create<math::Log1pOp>(loc, a); }
Value Body::tanh(Value a) { return builder.create<math::TanhOp>(loc, a); }
Value Body::erf(Value a) { return builder.create<math::ErfOp>(loc, a); }
Value Body::sqrt(Value a) { return builder.create<math::SqrtOp>(loc, a); }
Value Body::rsqrt(Value a) { return div(constant(1.0, a), sqrt(a)); }
Value Body::sin(Value a) { return builder.create<math::SinOp>(loc, a); }
Value Body::cos(Value a) { return builder.create<math::CosOp>(loc, a); }
Value Body::floor(Value a) { return builder.create<math::FloorOp>(loc, a); }
Value Body::pow(Value a, Value b) {
  match(a, b);
  return builder.create<math::PowFOp>(loc, a, b);
}

Value Body::compare(arith::CmpFPredicate f, arith::CmpIPredicate i, Value a, Value b) {
  match(a, b);
  if (isFloat(a)) return builder.create<arith::CmpFOp>(loc, f, a, b);
  if (isBoolean(a)) i = unsignedPredicate(i);
  return builder.create<arith::CmpIOp>(loc, i, a, b);
}

Value Body::eq(Value a, Value b) { return compare(arith::CmpFPredicate::OEQ, arith::CmpIPredicate::eq, a, b); }
Value Body::ne(Value a, Value b) { return compare(arith::CmpFPredicate::UNE, arith::CmpIPredicate::ne, a, b); }
Value Body::lt(Value a, Value b) { return compare(arith::CmpFPredicate::OLT, arith::CmpIPredicate::slt, a, b); }
Value Body::le(Value a, Value b) { return compare(arith::CmpFPredicate::OLE, arith::CmpIPredicate::sle, a, b); }
Value Body::gt(Value a, Value b) { return compare(arith::CmpFPredicate::OGT, arith::CmpIPredicate::sgt, a, b); }
Value Body::ge(Value a, Value b) { return compare(arith::CmpFPredicate::OGE, arith::CmpIPredicate::sge, a, b); }

Value Body::logicalAnd(Value a, Value b) {
  match(a, b);
  return builder.create<arith::AndIOp>(loc, a, b);
}
Value Body::logicalOr(Value a, Value b) {
  match(a, b);
  return builder.create<arith::OrIOp>(loc, a, b);
}

Value Body::select(Value condition, Value a, Value b) {
  match(a, b);
  match(condition, a);
  a = splatLike(a, condition);
  b = splatLike(b, condition);
  return builder.create<arith::SelectOp>(loc, condition, a, b);
}

// To f32, on the way to a smaller float: the last bit is set if anything was lost, so that the second rounding is as good as the only one
// (rounding to odd; Boldo and Melquiond 2008).
Value Body::narrow(Value a, Type type) {
  Value near = builder.create<arith::TruncFOp>(loc, type, a), back = builder.create<arith::ExtFOp>(loc, a.getType(), near);
  Type word = withElement(type, builder.getI32Type());
  auto flag = [&](arith::CmpFPredicate predicate, Value x, Value y) -> Value {
    return builder.create<arith::ExtUIOp>(loc, word, builder.create<arith::CmpFOp>(loc, predicate, x, y));
  };
  Value bits = builder.create<arith::BitcastOp>(loc, word, near);
  Value towardsZero = sub(bits, flag(arith::CmpFPredicate::OGT, abs(back), abs(a)));
  Value odd = builder.create<arith::OrIOp>(loc, towardsZero, flag(arith::CmpFPredicate::ONE, back, a));
  return builder.create<arith::BitcastOp>(loc, type, odd);
}

Value Body::settle(Value a, Type element) {
  if (valueType(element) == element) return a;
  if (!isa<FloatType>(element)) return builder.create<arith::AndIOp>(loc, a, constant((1 << element.getIntOrFloatBitWidth()) - 1, a));
  Value stored = builder.create<arith::TruncFOp>(loc, withElement(a.getType(), element), a);
  return builder.create<arith::ExtFOp>(loc, a.getType(), stored);
}

Value Body::cast(Value a, Type element) {
  Type to = valueType(element);
  Type from = elementType(a.getType());
  if (from == to) return a;
  if (to.isInteger(1)) return ne(a, constant(0, a));
  Type type = withElement(a.getType(), to);
  bool fromFloat = isa<FloatType>(from), toFloat = isa<FloatType>(to);
  unsigned fromBits = from.getIntOrFloatBitWidth(), toBits = to.getIntOrFloatBitWidth();
  if (fromFloat && toFloat) {
    if (fromBits < toBits) return builder.create<arith::ExtFOp>(loc, type, a);
    if (to != element) return narrow(a, type);
    return builder.create<arith::TruncFOp>(loc, type, a);
  }
  if (fromFloat) {
    // By way of i32: what does not fit is then the same for vectors and scalars.
    if (toBits < 32) return cast(cast(a, builder.getI32Type()), element);
    return builder.create<arith::FPToSIOp>(loc, type, a);
  }
  if (toFloat) {
    if (to != element) return cast(cast(a, builder.getF64Type()), element);
    if (fromBits == 1) return builder.create<arith::UIToFPOp>(loc, type, a);
    return builder.create<arith::SIToFPOp>(loc, type, a);
  }
  if (fromBits == toBits) return a;
  if (fromBits > toBits) return builder.create<arith::TruncIOp>(loc, type, a);
  if (fromBits == 1) return builder.create<arith::ExtUIOp>(loc, type, a);
  return builder.create<arith::ExtSIOp>(loc, type, a);
}

}  // namespace mxc
