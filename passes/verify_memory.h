// An independent check of a memory plan.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Support/LogicalResult.h"

namespace mxc::passes {

// Replays the kernels of a planned function in order and keeps book of which value lies where. Fails, with a diagnostic at the kernel,
// if one of these does not hold:
//   - every result has a place, inside the arena if it lies there, and results of one kernel are disjoint;
//   - what a kernel reads is still what was written there;
//   - a result that overlaps an operand of its kernel covers it exactly, and the kernel may overwrite it;
//   - at the end, results of the function lie where the function says: in the argument that they replace, or in the output's memory.
// Requires: plan-memory has run.
mlir::LogicalResult verifyMemory(mlir::func::FuncOp function);

}  // namespace mxc::passes
