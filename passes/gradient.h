// Reverse-mode differentiation of a block of mx ops.
#pragma once

#include "ir/gradient.h"

namespace mxc {

// What is differentiated: the sum of the elements of `value`, times `seed` of its type; a null seed is one.
struct GradientRoot {
  mlir::Value value, seed;
};

// Appends to the builder's place the gradients of the sum of `roots` with respect to `wrt`, values of the same block.
// gradients[i] has the type of wrt[i], and is null if no root depends on it. A value with several users gets the explicit sum
// of their gradients, in the reverse order of the users, whatever else is asked for. Fails with a diagnostic that names the op without
// a gradient and the way from a root, called `what` there, through it to one of `wrt`.
mlir::LogicalResult buildGradients(mlir::OpBuilder& builder, llvm::ArrayRef<GradientRoot> roots, mlir::ValueRange wrt,
                                   llvm::SmallVectorImpl<mlir::Value>& gradients, llvm::StringRef what = "the loss");

}  // namespace mxc
