// Reverse-mode differentiation of a block of mx ops.
#pragma once

#include <optional>

#include "ir/gradient.h"

namespace mxc {

// What is differentiated: the sum of the elements of `value`, times `seed` of its type; a null seed is one.
struct GradientRoot {
  mlir::Value value, seed;
};

// What gradients are for.
struct GradientPurpose {
  llvm::StringRef root = "the loss";      // what errors call a root
  std::optional<mlir::Location> askedAt;  // where a gradient is asked for, if that is not to be seen from the root
  llvm::ArrayRef<bool> optional = {};     // by wanted value (empty: none): where no gradient exists it is zero, and no error
};

// Appends to the builder's place the gradients of the sum of `roots` with respect to `wrt`, values of the same block.
// gradients[i] has the type of wrt[i]. A value with several users gets the explicit sum of their gradients, in the reverse order of the
// users, whatever else is asked for. gradients[i] is null, which means zero, if no root depends on wrt[i], or only through stop_gradient, or
// through what is constant between jumps within a gradient itself (the second derivative of relu).
// Fails with a diagnostic that names an op without a gradient and the way from a root through it to one of `wrt`, with the places: an op that
// has none at all, or one where the last way to a wanted value ends (comparisons, argmax, accuracy, integers).
mlir::LogicalResult buildGradients(mlir::OpBuilder& builder, llvm::ArrayRef<GradientRoot> roots, mlir::ValueRange wrt,
                                   llvm::SmallVectorImpl<mlir::Value>& gradients, const GradientPurpose& purpose = {});

}  // namespace mxc
