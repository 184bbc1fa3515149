// The passes, one function each; the comment above each definition shows the IR before and after.
#pragma once

#include "passes/pipeline.h"

namespace mxc::passes {

// Types flow from inputs to results; parameters get their shapes.
mlir::LogicalResult inferShapes(mlir::ModuleOp module, const PipelineOptions& options);
// Warns of what no loss, report or output needs, and drops it.
mlir::LogicalResult findUnused(mlir::ModuleOp module, const PipelineOptions& options);
// Elementwise work goes behind operations that choose or move elements, where it needs less memory.
mlir::LogicalResult sink(mlir::ModuleOp module, const PipelineOptions& options);
// One model becomes the functions @init, @train, @eval and @infer, gradients and updates included.
mlir::LogicalResult buildGraphs(mlir::ModuleOp module, const PipelineOptions& options);
// Folds, merges what is computed twice, drops what nobody reads. Runs on functions that have their gradients.
mlir::LogicalResult simplify(mlir::ModuleOp module, const PipelineOptions& options);
// Decides how every tensor lies in memory.
mlir::LogicalResult layout(mlir::ModuleOp module, const PipelineOptions& options);
// Leaves a library its inference alone, or with the training of some parameters.
mlir::LogicalResult keepInference(mlir::ModuleOp module, const PipelineOptions& options);
// Wraps every operation that computes in an mx.kernel, fused with its neighbours. fuseNothing: one operation a kernel.
mlir::LogicalResult fuse(mlir::ModuleOp module, const PipelineOptions& options);
mlir::LogicalResult fuseNothing(mlir::ModuleOp module, const PipelineOptions& options);
// Orders the kernels.
mlir::LogicalResult schedule(mlir::ModuleOp module, const PipelineOptions& options);
// Has forward's values made again in backward as far as the memory limit asks for it.
mlir::LogicalResult recompute(mlir::ModuleOp module, const PipelineOptions& options);
// Gives every kernel result a place in memory.
mlir::LogicalResult planMemory(mlir::ModuleOp module, const PipelineOptions& options);
// Checks the memory plan (verify_memory.h); changes nothing.
mlir::LogicalResult verifyPlan(mlir::ModuleOp module, const PipelineOptions& options);
// Says what shards exchange, and what goes first.
mlir::LogicalResult distribute(mlir::ModuleOp module, const PipelineOptions& options);

}  // namespace mxc::passes
