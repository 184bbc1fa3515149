// A case as a function in MLIR: forward, and backward by the ops' own gradients.
#pragma once

#include "ir/mx.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "tests/compiler/ops/op_case.h"

namespace mxc::ops_test {

struct Graph {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  // Arguments: the case's inputs, then (if anything is differentiable) a gradient for each result that the reference gives.
  // Results: those of the reference, then the gradients of the differentiable operands.
  mlir::func::FuncOp function;
  bool wide = false;  // f64
};

// `results`: how many the reference gives. Fails with a diagnostic.
mlir::FailureOr<Graph> buildGraph(const OpCase& c, mlir::FloatType element, size_t results);

// The type of an input.
TensorType inputType(const Input& input, mlir::FloatType element);

}  // namespace mxc::ops_test
