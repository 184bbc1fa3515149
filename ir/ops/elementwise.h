// The elementwise family.
#pragma once
#include "ir/mx.h"
#define GET_OP_CLASSES
#include "ir/ops/elementwise.h.inc"

namespace mxc::mx {
// A rank-0 constant.
mlir::Value makeConstant(mlir::OpBuilder& builder, mlir::Location loc, double value, mlir::Type element);
}  // namespace mxc::mx
