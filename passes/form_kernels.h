// Forming mx.kernel operations out of groups of operations: the mechanical half of fusion.
#pragma once

#include "ir/types.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mxc::passes {

// Whether the operation computes something that a kernel must do: all but views and the terminator.
bool needsKernel(mlir::Operation* op);
// An operation that is computed anew in every kernel that uses it, because that is cheaper than a load from a stored result:
// constants, broadcasts, and cheap arithmetic on scalars that come from the function's arguments.
bool isRecomputed(mlir::Operation* op);
// Whether `op` can compute its operand `operand` itself, given that a recomputed operation defines it.
bool takesRecomputed(mlir::Operation* op, unsigned operand);
// Whether some user of a recomputed operation needs it in memory: it then gets a kernel of its own beside being recomputed elsewhere.
bool mustBeStored(mlir::Operation* op);

// Replaces each group of operations by one mx.kernel, in a valid order that keeps to the present one where it can.
// Requires: the groups are disjoint and hold, in program order, all operations that need a kernel except recomputed ones that need
// not be stored; no two groups depend on each other.
void formKernels(mlir::func::FuncOp function, llvm::ArrayRef<llvm::SmallVector<mlir::Operation*>> groups);

}  // namespace mxc::passes
