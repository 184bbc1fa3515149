// The kernels of a training function by the side that they are on, and what it takes to repeat some of them in backward.
#pragma once

#include "ir/mx.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace mxc::passes {

// Both lists in the order of the block. A function that is no training has no kernels in `forward`.
struct TrainingKernels {
  explicit TrainingKernels(mlir::func::FuncOp function);

  llvm::SmallVector<mlir::Operation*> forward;   // what the loss needs; of a function with gradients (forward_part.h): its forward part
  llvm::SmallVector<mlir::Operation*> backward;  // what the parameters' new values, or gradients, need beside that

  bool isForward(mlir::Operation* op) const { return inForward_.contains(op); }
  bool isBackward(mlir::Operation* op) const { return inBackward_.contains(op); }

 private:
  llvm::SmallPtrSet<mlir::Operation*, 16> inForward_, inBackward_;
};

// Calls `visit` with every reader of the memory of `root`, be it through views.
void forMemoryReaders(mlir::Value root, llvm::function_ref<void(mlir::Operation*)> visit);

// A value as repeated kernels and their readers see it: `map` says what stands for what; views are repeated, at the builder's place, over
// what is.
mlir::Value repeatedView(mlir::Value value, mlir::IRMapping& map, mlir::OpBuilder& builder);

// Has the values that the model marks (ir/recompute_hint.h) made again in backward. Requires: kernels in the order in which they run.
void recomputeMarked(mlir::func::FuncOp function);

}  // namespace mxc::passes
