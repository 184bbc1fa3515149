// The scan family, and running products for the gradients of others.
#pragma once
#include "ir/mx.h"
#define GET_OP_CLASSES
#include "ir/ops/scan.h.inc"

namespace mxc::mx {
// The product of the elements up to each one along an axis (from its end if `reverse`), without itself if `exclusive`. Requires: the axis
// is not the batch's.
mlir::Value runningProduct(mlir::OpBuilder& b, mlir::Location loc, mlir::Value input, int64_t axis, bool reverse, bool exclusive);
}  // namespace mxc::mx
