// Moving elements between strided and contiguous memory. No arithmetic: elements are bytes.
#pragma once

#include <cstdint>

#include "runtime/ndarray/dims.h"

namespace mxc::ndarray {

constexpr int kMaxOperands = 4;  // of a Walk: operands and the result

// Several regions with the same extents, walked together in row-major order.
struct Walk {
  Dims extents;
  Dims strides[kMaxOperands];  // of each region, in elements
  int regions = 0;
};

// The same walk with as few axes as possible: axes of extent 1 go, and neighbours join where every region lets them. At least one axis stays.
Walk collapsed(const Walk& walk);

// A place in a walk.
struct Position {
  Dims index;
  int64_t offset[kMaxOperands];  // of each region, in elements
};
Position at_element(const Walk& walk, int64_t element);
// To the start of the next row, from the start of a row (a run along the last axis). Wraps around at the end.
void next_row(const Walk& walk, Position* position);

// Copies elements [first, first + n) of the walk between region `region`, which starts at `base`, and contiguous memory.
void gather(const Walk& walk, int region, int64_t first, int64_t n, int64_t element_bytes, const void* base, void* to);
void scatter(const Walk& walk, int region, int64_t first, int64_t n, int64_t element_bytes, const void* from, void* base);

// Copies a region to another with the same extents. Requires: they do not overlap.
void copy_strided(const Dims& extents, int64_t element_bytes, const void* from, const Dims& from_strides, void* to, const Dims& to_strides);

}  // namespace mxc::ndarray
