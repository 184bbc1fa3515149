// Initial values of parameters, by the name of their initialiser.
//   zeros; ones; constant(value); uniform(low, high); normal(mean, deviation)
//   xavier   uniform in +-sqrt(6 / (fan_in + fan_out))            (Glorot and Bengio 2010)
//   msra     normal with deviation sqrt(2 / fan_in)               (He et al. 2015)
//   lecun    normal with deviation sqrt(1 / fan_in)               (LeCun et al. 1998)
// A parameter [out, in, kernel...] has fan_in = in * product(kernel) and fan_out = out * product(kernel).
#pragma once

#include "ir/types.h"
#include "mlir/IR/Builders.h"

namespace mxc {

// Builds the initial value of a parameter of this type. `seed`: rank-0 i64; `stream`: a number of its own for each parameter.
// Errors (emitted at `loc`): no such initialiser, a wrong number of arguments, a fan of a tensor with fewer than two axes.
mlir::FailureOr<mlir::Value> buildInitialValue(mlir::OpBuilder& builder, mlir::Location loc, llvm::StringRef init,
                                               llvm::ArrayRef<double> args, TensorType type, mlir::Value seed, int64_t stream);

}  // namespace mxc
