// The elementwise family.
#pragma once
#include "ir/mx.h"
#define GET_OP_CLASSES
#include "ir/ops/elementwise.h.inc"

namespace mxc::mx {
// A rank-0 constant.
mlir::Value makeConstant(mlir::OpBuilder& builder, mlir::Location loc, double value, mlir::Type element);
// A tensor of the dims and batch of `type` with this value everywhere.
mlir::Value makeFilled(mlir::OpBuilder& builder, mlir::Location loc, double value, TensorType type);

// Short formulas of elementwise ops at a builder's place; `element` is the type of numbers.
struct Arithmetic {
  mlir::OpBuilder& b;
  mlir::Location loc;
  mlir::Type element;

  mlir::Value number(double value) const { return makeConstant(b, loc, value, element); }
  mlir::Value add(mlir::Value x, mlir::Value y) const { return make<AddOp>(b, loc, {x, y}); }
  mlir::Value sub(mlir::Value x, mlir::Value y) const { return make<SubOp>(b, loc, {x, y}); }
  mlir::Value mul(mlir::Value x, mlir::Value y) const { return make<MulOp>(b, loc, {x, y}); }
  mlir::Value div(mlir::Value x, mlir::Value y) const { return make<DivOp>(b, loc, {x, y}); }
  mlir::Value where(mlir::Value condition, mlir::Value x, mlir::Value y) const { return make<WhereOp>(b, loc, {condition, x, y}); }
};
}  // namespace mxc::mx
