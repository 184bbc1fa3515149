// The loss family, and what metrics ask of the same operands.
#pragma once
#include "ir/mx.h"
#define GET_OP_CLASSES
#include "ir/ops/loss.h.inc"

namespace mxc::mx {
// The type of one number a sample, [n], for an op whose first operands are logits [n, c] and integer labels [n], or prediction and target
// of one shape [n, ...]. Emits an error at `op` if they are not.
mlir::FailureOr<TensorType> typePerRow(mlir::Operation* op);
mlir::FailureOr<TensorType> typePerPair(mlir::Operation* op);
// For each label 1, of type `element`, if it lies in [0, classes) and is not `ignored`, else 0.
mlir::Value countedRows(mlir::OpBuilder& b, mlir::Location loc, mlir::Value label, int64_t classes, int64_t ignored, mlir::Type element);
}  // namespace mxc::mx
