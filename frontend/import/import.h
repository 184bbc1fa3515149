// Symbol JSON to a module of the mx dialect.
//
// Generic: a node `op` becomes the operation mx.<op>; which operands and attributes it has, and of which kinds, is looked up in the table
// that is made from the operations' definitions (op_schema.h). Nothing here knows a single operation, but the model's own vocabulary:
// inputs, parameters, numbers, losses, reports, outputs, the optimizer.
//
// The module holds, at its top level: mx.input, mx.parameter, mx.constant and computing operations in the order of the document, then
// mx.minimize, mx.report, mx.output, then one mx.optimizer. Inputs and parameters with a known shape have ranked types, everything
// else is tensor<*xT>, for shape inference to fill in. The locations are NameLoc(node's name, at(file:line:column, called from ...)).
#pragma once

#include <string>

#include "frontend/diagnostic.h"
#include "llvm/ADT/StringRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mxc::frontend {

struct ImportOptions {
  std::string path;       // of the document or of model.cpp, for errors without a better place
  bool f64 = false;       // the model's floating type is double
  std::string optimizer;  // as parseOptimizer of ir/optimizers.h reads it; empty: the model's, or sgd
};

// Requires: the mx dialect is loaded in `context`. Null after an error, which has been reported.
mlir::OwningOpRef<mlir::ModuleOp> importModel(llvm::StringRef json, const ImportOptions& options, mlir::MLIRContext& context,
                                              const DiagnosticSink& sink);

}  // namespace mxc::frontend
