// Reverse-mode differentiation of a block of mx ops.
#pragma once

#include "ir/gradient.h"

namespace mxc {

// Appends to the builder's place the gradients of the scalar `loss` with respect to `wrt`, values of the same block.
// gradients[i] has the type of wrt[i], and is null if the loss does not depend on it. A value with several users gets the explicit sum
// of their gradients, in the reverse order of the users. Fails with a diagnostic that names the op without a gradient.
mlir::LogicalResult buildGradients(mlir::OpBuilder& builder, mlir::Value loss, mlir::ValueRange wrt,
                                   llvm::SmallVectorImpl<mlir::Value>& gradients);

}  // namespace mxc
