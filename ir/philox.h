// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) in kernels.
//
// A random number is a function of its key and its place: nothing is stored, and neither threads, layout nor vector width matter.
//   key      seed (64 bits)
//   counter  word 0: element number; word 1: stream; word 2: step (low 32 bits); word 3: 0 for initial values, 1 in steps
// One block of four words serves one element.
#pragma once

#include <array>

#include "ir/body.h"

namespace mxc {

using PhiloxWords = std::array<mlir::Value, 4>;

// The ten rounds. Words are i32, scalars or vectors of one length.
PhiloxWords philox(Body& b, PhiloxWords counter, std::array<mlir::Value, 2> key);

// The block of an element. `seed` and `step` are i64 scalars, `step` null for initial values; `element` is an i64, vector or scalar.
PhiloxWords randomWords(Body& b, mlir::Value seed, mlir::Value step, int64_t stream, mlir::Value element);

// Uniform in [0, 1), a multiple of 2^-24 (f32) or 2^-53 (f64), from two words.
mlir::Value uniformFrom(Body& b, mlir::Value high, mlir::Value low, mlir::Type element);
// Standard normal (Box and Muller 1958): of the four words.
mlir::Value normalFrom(Body& b, const PhiloxWords& words, mlir::Type element);

}  // namespace mxc
