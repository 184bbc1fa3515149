// Body: arithmetic on the value of a tensor at one point, or at a vector of consecutive points.
//
// Ops write their mathematics once with it; where the value is a vector, so is the result. A scalar that meets a vector is
// splat. No operation carries fast-math flags; a fused multiply-add appears only where `fma` is written.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace mxc {

class Body {
 public:
  // `batch`: the run-time batch n as an i64 scalar.
  Body(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value batch) : builder(builder), loc(loc), batch_(batch) {}
  using Value = mlir::Value;

  Value batch() const { return batch_; }

  // A constant of `like`'s element type (a splat if `like` is a vector).
  Value constant(double value, Value like);
  Value constant(double value, mlir::Type elementType);

  // Arithmetic on floats or integers (signed, wrapping around). Of booleans `add` and `max` are or, `mul` and `min` are and.
  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  // Integers: towards zero; what is divided by 0 is 0.
  Value div(Value a, Value b);
  Value neg(Value a);
  // a * b + c, rounded once.
  Value fma(Value a, Value b, Value c);
  // NaN if either is NaN.
  Value max(Value a, Value b);
  Value min(Value a, Value b);
  Value abs(Value a);

  // Floats only.
  Value exp(Value a);
  Value log(Value a);
  Value log1p(Value a);
  Value tanh(Value a);
  Value erf(Value a);
  Value sqrt(Value a);
  Value rsqrt(Value a);
  Value sin(Value a);
  Value cos(Value a);
  Value pow(Value a, Value b);
  Value floor(Value a);

  // Comparisons give i1 (or a vector of it). Ordered: false if an operand is NaN; `ne` is unordered.
  Value eq(Value a, Value b);
  Value ne(Value a, Value b);
  Value lt(Value a, Value b);
  Value le(Value a, Value b);
  Value gt(Value a, Value b);
  Value ge(Value a, Value b);
  Value logicalAnd(Value a, Value b);
  Value logicalOr(Value a, Value b);
  Value select(Value condition, Value a, Value b);

  // Converts to the value type of `elementType`: float <-> float, int <-> float (truncating), int <-> int (signed; i1 as 0 or 1). To i1:
  // whether it is not 0. What `settle` makes of the result is rounded once (integers of more than 53 bits: twice).
  Value cast(Value a, mlir::Type elementType);
  // `a` as it is after it lay in memory as an `element`: small floats are rounded, unsigned integers wrap around.
  Value settle(Value a, mlir::Type element);

  // Makes scalar operands vectors if another one is a vector.
  void match(Value& a, Value& b);
  Value splatLike(Value a, Value like);

  mlir::OpBuilder& builder;
  mlir::Location loc;

 private:
  Value batch_;
  template <typename FloatOp, typename IntOp>
  Value binary(Value a, Value b);
  Value compare(mlir::arith::CmpFPredicate f, mlir::arith::CmpIPredicate i, Value a, Value b);
  Value narrow(Value a, mlir::Type to);
};

// The element type of a scalar, vector or tensor type.
mlir::Type elementType(mlir::Type type);
// The type that an element's value has in a kernel: its own; i32 for small unsigned integers, so that their sign is not in doubt; f32 for
// f16 and bf16.
mlir::Type valueType(mlir::Type element);
inline bool isFloat(mlir::Value v) { return llvm::isa<mlir::FloatType>(elementType(v.getType())); }

}  // namespace mxc
