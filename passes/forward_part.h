// The two parts of a function whose results hold gradients: forward, and backward, which only gradients need (plan.h, backward_item).
#pragma once

#include "llvm/ADT/SmallPtrSet.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mxc::passes {

// Whether result `i` of a function is a gradient.
bool isGradientResult(mlir::func::FuncOp function, unsigned i);
// Whether a function has results that are gradients. All others have no parts.
bool hasBackward(mlir::func::FuncOp function);

// The operations of the function's block that results other than gradients are computed from. The others are backward.
llvm::SmallPtrSet<mlir::Operation*, 16> forwardPart(mlir::func::FuncOp function);

}  // namespace mxc::passes
