// Operations that look at the elements along one axis, whatever lies on the others.
#pragma once

#include "runtime/ndarray/array.h"

namespace mxc::ndarray {

// An array with one axis brought to the end, as rows in one run of memory.
struct Rows {
  NDArray array;   // contiguous; shape: the others, then the axis
  int axis;        // where it was
  int64_t count, length;
};
Rows rows_along(const char* op, const NDArray& x, int64_t axis, Here here);

// The same order of axes as before: the last one goes back to `axis`. Contiguous.
NDArray axis_back(const char* op, const NDArray& rows, int axis, Here here);

}  // namespace mxc::ndarray
