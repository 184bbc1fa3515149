// The two parts of a function whose results hold gradients: forward, and backward, which only gradients need (plan.h, backward_item).
#pragma once

#include "llvm/ADT/SmallPtrSet.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mxc::passes {

// Whether result `i` of a function has this role; whether it is a gradient.
bool hasRole(mlir::func::FuncOp function, unsigned i, llvm::StringRef role);
bool isGradientResult(mlir::func::FuncOp function, unsigned i);
// Whether a function has results that are gradients. All others have no parts.
bool hasBackward(mlir::func::FuncOp function);

// The operations of the function's block that its results of the numbers `wanted` are computed from.
llvm::SmallPtrSet<mlir::Operation*, 16> computedFrom(mlir::func::FuncOp function, llvm::function_ref<bool(unsigned)> wanted);
// The operations of the function's block that results other than gradients are computed from. The others are backward.
llvm::SmallPtrSet<mlir::Operation*, 16> forwardPart(mlir::func::FuncOp function);

}  // namespace mxc::passes
