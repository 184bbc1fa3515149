// A case as a function in MLIR: forward, and backward by the ops' own gradients, once or twice.
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
  // Second order: which arguments have a gradient of the gradients; the others' is zero.
  std::vector<unsigned> second;
};

// `results`: how many the reference gives. Fails with a diagnostic.
mlir::FailureOr<Graph> buildGraph(const OpCase& c, mlir::FloatType element, size_t results);

// The gradients of the gradients. Arguments: the case's inputs, a gradient for each result, one for each gradient. Results: the
// gradients of the differentiable operands, then those of the arguments `second`.
mlir::FailureOr<Graph> buildSecondOrder(const OpCase& c, mlir::FloatType element, size_t results);

// The type of an input.
TensorType inputType(const Input& input, mlir::FloatType element);

}  // namespace mxc::ops_test
