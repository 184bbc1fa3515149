// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) in kernels.
//
// A random number is a function of its position (seed, step, shard, stream, iteration, element): nothing is stored, and neither
// threads, layout nor vector width matter. The positions and the draws are those of runtime/core/philox.h, which specifies them;
// initial values stand at step -1.
#pragma once

#include <array>

#include "ir/body.h"

namespace mxc {

using PhiloxWords = std::array<mlir::Value, 4>;
using PhiloxKey = std::array<mlir::Value, 2>;

// The ten rounds. Words are i32, scalars or vectors of one length.
PhiloxWords philox(Body& b, PhiloxWords counter, PhiloxKey key);

// The key of a stream. `seed` and `step` are i64 scalars; a null step: initial values.
PhiloxKey philoxKey(Body& b, mlir::Value seed, mlir::Value step, int64_t stream);

// The draw of an element, an i64 vector or scalar.
// Uniform in [0, 1), a multiple of 2^-24 (f32) or 2^-53 (f64).
mlir::Value randomUniform(Body& b, PhiloxKey key, mlir::Value element, mlir::Type type);
// Standard normal (Box and Muller 1958) from the uniform draws u, v of elements 2 * element and 2 * element + 1:
// sqrt(-2 log(1 - u)) cos(2 pi v).
mlir::Value randomNormal(Body& b, PhiloxKey key, mlir::Value element, mlir::Type type);

}  // namespace mxc
