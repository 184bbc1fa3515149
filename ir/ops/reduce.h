// The reduce family, and what other reductions share with it.
#pragma once
#include "ir/mx.h"
#define GET_OP_CLASSES
#include "ir/ops/reduce.h.inc"

namespace mxc::mx {

// The reduced axes, sorted, none of them negative; all if `axes` is empty. Emits an error at `op` for a wrong one.
mlir::FailureOr<llvm::SmallVector<int64_t>> reducedAxes(mlir::Operation* op, llvm::ArrayRef<int64_t> axes, int64_t rank);
// `type` with the reduced axes of size 1, or without them.
TensorType keptType(TensorType type, llvm::ArrayRef<int64_t> axes);
TensorType droppedType(TensorType type, llvm::ArrayRef<int64_t> axes);
// The number of reduced elements: a fixed part, and whether the batch multiplies it.
std::pair<int64_t, bool> reducedCount(TensorType type, llvm::ArrayRef<int64_t> axes);
llvm::SmallVector<Extent> extentsOf(TensorType type, llvm::ArrayRef<int64_t> axes);

// The grid of a reduction of `input` over `axes`: `point` for each element of `output`, whose rank is that of keptType or
// droppedType. full(inner) is the place in `input` for the point `inner` of the reduced axes.
using FullPoint = llvm::function_ref<Indices(At inner)>;
using KeptPoint = llvm::function_ref<void(At kept, FullPoint full)>;
void forEachKept(KernelBuilder& k, mlir::Value input, mlir::Value output, llvm::ArrayRef<int64_t> axes, bool keepDims, KeptPoint point);

}  // namespace mxc::mx
