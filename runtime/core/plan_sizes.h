// What a Plan's records come to for n samples: extents, elements, bytes, grids.
//
// Freestanding: embedded libraries, which have no C++ library, use it too. n is the run-time batch; what has no batch axis ignores it.
#pragma once

#include "runtime/core/plan.h"

namespace mxc::core {

inline int64_t dtype_bytes(plan::DType dtype) {
  switch (dtype) {
    case plan::DType::f64:
    case plan::DType::i64: return 8;
    case plan::DType::f32:
    case plan::DType::i32: return 4;
    case plan::DType::f16:
    case plan::DType::bf16: return 2;
    case plan::DType::i8:
    case plan::DType::u8:
    case plan::DType::boolean: return 1;
  }
  return 0;
}

// Logical extent of an axis of the first n samples.
inline int64_t extent(const plan::Buffer& buffer, int axis, int64_t n) {
  return axis == buffer.batch_axis ? n * buffer.batch_unit : buffer.dims[axis];
}

// Samples that the buffer has room for: dims[batch_axis] / batch_unit; 0 without a batch axis.
inline int64_t batch_capacity(const plan::Buffer& buffer) {
  return buffer.batch_axis < 0 ? 0 : buffer.dims[buffer.batch_axis] / buffer.batch_unit;
}

// Logical elements of the first n samples; without n: at the compiled batch.
inline int64_t elements(const plan::Buffer& buffer, int64_t n) {
  int64_t count = 1;
  for (int axis = 0; axis < buffer.rank; ++axis) count *= extent(buffer, axis, n);
  return count;
}
inline int64_t elements(const plan::Buffer& buffer) { return elements(buffer, batch_capacity(buffer)); }

// Bytes from the start of the buffer within which the first n samples lie: a part of `bytes` when the batch axis is
// outermost and not blocked, else all of them. Memory bound by a caller needs this much.
inline uint64_t used_bytes(const plan::Buffer& buffer, int64_t n) {
  bool outermost = buffer.batch_axis >= 0 && buffer.order[0] == buffer.batch_axis;
  if (!outermost || buffer.block_axis == buffer.batch_axis || buffer.bytes == 0) return buffer.bytes;
  return buffer.bytes / static_cast<uint64_t>(batch_capacity(buffer)) * static_cast<uint64_t>(n);
}

// Cells of a step's grid for n samples.
inline int64_t grid(const plan::Step& step, int64_t n) {
  if (step.grid_batch_unit == 0) return step.grid_cells;
  return step.grid_cells * ((n * step.grid_batch_unit + step.grid_batch_tile - 1) / step.grid_batch_tile);
}

}  // namespace mxc::core
