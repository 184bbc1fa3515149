// Initial values of parameters, by the name of their initialiser.
//   zeros; ones; constant(value); uniform(low, high); normal(mean, deviation)
//   xavier   uniform in +-sqrt(6 / (fan_in + fan_out))            (Glorot and Bengio 2010)
//   xavier(distribution, fan, magnitude)   uniform in +-sqrt(magnitude / fan), or normal of that deviation
//   msra     normal with deviation sqrt(2 / fan_in)               (He et al. 2015)
//   msra(slope, fan)                       normal with deviation sqrt(2 / ((1 + slope^2) fan))
//   orthogonal(gain)   orthogonal rows (or columns, if fewer) of length gain   (Saxe et al. 2014)
//   bilinear           kernels [.., .., h, w] that enlarge                     (Long et al. 2015)
//   file     zeros here: the program puts what a file holds in their place when a training begins. The attributes mx.init_file and
//            mx.init_tensor of the parameter say where; they go with @init's result to the Plan.
//   lecun    normal with deviation sqrt(1 / fan_in)               (LeCun et al. 1998)
// distribution: 0 uniform, 1 normal; fan: 0 fan_in, 1 fan_out, 2 their mean.
// A parameter [out, in, kernel...] has fan_in = in * product(kernel) and fan_out = out * product(kernel).
#pragma once

#include "ir/types.h"
#include "mlir/IR/Builders.h"

namespace mxc {

// Builds the initial value of a parameter of this type. `seed`: rank-0 i64; `stream`: a number of its own for each parameter.
// Errors (emitted at `loc`): no such initialiser, a wrong number of arguments, numbers that make no distribution, a fan of a tensor with fewer
// than two axes.
mlir::FailureOr<mlir::Value> buildInitialValue(mlir::OpBuilder& builder, mlir::Location loc, llvm::StringRef init,
                                               llvm::ArrayRef<double> args, TensorType type, mlir::Value seed, int64_t stream);

}  // namespace mxc
