// infer-shapes: types flow forward through the model, in the order in which the user wrote it.
//
//   before:  %w = mx.parameter "dense0.weight" : tensor<*xf32>
//            %y = mx.dense %x, %w {units = 10} : (tensor<64x784xf32, #b>, tensor<*xf32>) -> tensor<*xf32>
//   after:   %w = mx.parameter "dense0.weight" : tensor<10x784xf32>
//            %y = mx.dense %x, %w {units = 10} : (...) -> tensor<64x10xf32, #b>
//
// Each op infers its results from its operands and fixes the shapes of its own parameters. Needs: operands before users.
// After it every value of the module has a ranked type.
#include "ir/mx.h"
#include "passes/passes.h"

using namespace mlir;

namespace mxc::passes {

LogicalResult inferShapes(ModuleOp module, const PipelineOptions&) {
  for (Operation& op : module.getBody()->getOperations())
    if (auto rules = dyn_cast<mx::OpRules>(op))
      if (failed(rules.inferTypes())) return failure();
  for (auto parameter : module.getOps<mx::ParameterOp>())
    if (!rankedType(parameter.getOutput()))
      return parameter.emitError() << "nothing determines the shape of parameter " << parameter.getName();
  return success();
}

}  // namespace mxc::passes
