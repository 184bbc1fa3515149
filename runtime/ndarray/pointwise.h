// Operations that make each element from the elements at the same place of their operands, which broadcast.
//
// Contiguous operands go to the kernel as they are. Others go row by row where rows are long enough, else tile by tile through a small
// contiguous buffer: the kernel is the same, and so are the bits.
#pragma once

#include <cstdint>

#include "runtime/ndarray/array.h"
#include "runtime/ndarray/kernels.h"

namespace mxc::ndarray {

constexpr int kMaxInputs = 3;

// An array, or a number as the bits of an element.
struct Operand {
  NDArray array = {};
  uint64_t bits = 0;
};

struct Pointwise {
  const char* name;            // of the operation, for messages; lives for ever
  const KernelFamily* family;
  plan::DType dtype;           // of the kernel
  Here here;
  int count = 0;
  Operand operands[kMaxInputs] = {};
};

// The bits of a number as an element of dtype. Error: the dtype cannot hold it.
uint64_t element_bits(const char* op, Number number, plan::DType dtype, Here here);

// The shape that the arrays among the operands have together. Error: they do not broadcast.
Dims broadcast_shape(const char* op, const NDArray* const* arrays, int count, Here here);

// Queues the operation. The result is a new array, or takes over the memory of an operand of which this call has the last handle.
// Error: shapes that do not broadcast, arrays of different devices or engines, no kernel for the dtype.
NDArray compute(Pointwise call);

// Queues target = operation, in place. The target may be an operand.
// Error: as above, and a target that the result does not fit into.
void compute_into(Pointwise call, const NDArray& target);

// source * factor, now.
NDArray multiply(NDArray source, uint64_t factor, Here here);

// x as another dtype, for an operation of that name; of this dtype already: the array itself.
NDArray cast_for(const char* op, NDArray x, DType dtype, Here here);

// What follows is shared with packed.cc.

// Queues a call whose arrays are plain, as they lie in memory; `out` has its final shape.
void queue_plain(const Pointwise& call, const Array& out);
// The same over the first n elements of the memory of all arrays.
void queue_contiguous(const Pointwise& call, const Kernel& kernel, const Array& out, int64_t n);

// Can the array be written through? Error: an array of which several elements share a place.
void check_writable(const char* op, const Array& target, Here here);

}  // namespace mxc::ndarray
