// What `mxc compile --memory-rules=paper` prints.
#pragma once

#include <string>

#include "mlir/IR/BuiltinOps.h"
#include "passes/pipeline.h"

namespace mxc::driver {

// The bytes that MXNet's planner would take for the model's internal variables (passes/paper_memory.h), a line for each set of facts
// about what backward reads and one for the bound. Requires: infer-shapes has run and build-graphs has not.
std::string paperMemoryText(mlir::ModuleOp module, MemoryPlan plan);

}  // namespace mxc::driver
