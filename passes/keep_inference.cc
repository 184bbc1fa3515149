// keep-inference: a library runs inference alone.
//
//   before:  func @train, func @eval, func @infer, func @init, ...
//   after:   func @infer
//
// It stands behind layout, where training has a say in how parameters lie: so a library's kernels are those of the trainer's `predict`, and
// their results the same bits. Needs: build-graphs. Does nothing but for a library (PipelineOptions::library).
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/passes.h"

using namespace mlir;

namespace mxc::passes {

LogicalResult keepInference(ModuleOp module, const PipelineOptions& options) {
  if (!options.library) return success();
  for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (function.getName() != "infer") function.erase();
  return success();
}

}  // namespace mxc::passes
