// Reverse-mode differentiation of a block of mx ops.
#pragma once

#include "ir/gradient.h"

namespace mxc {

// Appends to the builder's place the gradients of the sum of `loss` with respect to `wrt`, values of the same block.
// gradients[i] has the type of wrt[i], and is null if the loss does not depend on it. A value with several users gets the explicit sum
// of their gradients, in the reverse order of the users, whatever else is asked for. Fails with a diagnostic that names the op without
// a gradient and the way from the loss through it to one of `wrt`.
mlir::LogicalResult buildGradients(mlir::OpBuilder& builder, mlir::Value loss, mlir::ValueRange wrt,
                                   llvm::SmallVectorImpl<mlir::Value>& gradients);

}  // namespace mxc
