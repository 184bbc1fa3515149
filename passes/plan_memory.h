// What a memory plan would need, before it is made.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/pipeline.h"

namespace mxc::passes {

constexpr int64_t kArenaAlignment = 64;  // bytes; of every place

// Bytes of the arena that plan-memory would give `function`, which stays as it is. Requires: kernels stand in the order in which they run.
int64_t plannedArenaBytes(mlir::func::FuncOp function, MemoryPlan plan);

}  // namespace mxc::passes
