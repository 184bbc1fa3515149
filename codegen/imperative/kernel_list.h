// Which kernels the imperative NDArray has, each as an mx.kernel.
//
// A kernel is an operation on flat tensors whose only axis is the run-time batch, so that the batch is the run-time extent. The list comes
// from the dialect: operations that are elementwise and have no attributes, those with `axes` and `keep_dims` (reductions), with
// `axis` and `keep_dims` (places), with `axis` alone (rows); each for every element type that its type rule takes. Casts, random
// numbers and the fused pairs are named here, because what they are made of is a choice.
#pragma once

#include <string>
#include <vector>

#include "codegen/dtypes.h"
#include "ir/mx.h"
#include "mlir/IR/BuiltinOps.h"

namespace mxc::codegen {

struct ListedKernel {
  std::string family;           // "add", "cast.f64", "reduce_sum.run"
  plan::DType dtype;            // that it is asked for by
  unsigned scalars = 0;         // bit i: operand i is a single element
  int operands = 0;             // without the state of a `.run` kernel
  mx::KernelOp kernel;          // in a function of the scratch module
  int carried = -1;             // `.run`: the operand that holds the accumulators
};

// All of them. The kernels stand in functions that are added to `scratch`.
std::vector<ListedKernel> listKernels(mlir::ModuleOp scratch);

}  // namespace mxc::codegen
