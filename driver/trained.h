// Which parameters a library trains: names of --train, found in the model.
#pragma once

#include <string>
#include <vector>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LogicalResult.h"

namespace mxc::driver {

// The parameters that `names` mean, in the model's order: each is a parameter's name, or that of a layer, and then stands for all trainable
// parameters below it ("dense1" for dense1.weight and dense1.bias). Fails with a diagnostic: there is none of that name, or nothing of
// it can be trained.
mlir::FailureOr<std::vector<std::string>> trainedParameters(mlir::ModuleOp module, const std::vector<std::string>& names);

}  // namespace mxc::driver
