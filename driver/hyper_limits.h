// The numbers of an optimizer that a program is compiled with: the same limits as when it runs (runtime/core/hyper_range.h).
#pragma once

#include "driver/compile.h"
#include "mlir/IR/BuiltinOps.h"

namespace mxc::driver {

// Of --optimizer. False after an error, which has been printed. Requires: options.optimizer is empty or what parseOptimizer reads.
bool checkOptimizerFlag(const CompileOptions& options, DiagnosticPrinter& printer);

// Of an imported model, at the place of its optimizer.
mlir::LogicalResult checkOptimizer(mlir::ModuleOp module, const CompileOptions& options);

}  // namespace mxc::driver
