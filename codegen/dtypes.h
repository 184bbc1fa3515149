// Element types of the IR and of the Plan.
#pragma once

#include "mlir/IR/Types.h"
#include "runtime/core/plan.h"

namespace mxc::codegen {

constexpr int kDTypes = 9;  // plan::DType's, numbered from 0

mlir::Type elementOf(mlir::MLIRContext* context, plan::DType dtype);
// Requires: an element type of a tensor of mx.
plan::DType dtypeOf(mlir::Type element);
const char* dtypeName(plan::DType dtype);

}  // namespace mxc::codegen
