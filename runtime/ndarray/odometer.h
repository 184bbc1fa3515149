// Odometer: counts through the indices of some axes in row-major order, with the offset that each stands for.
#pragma once

#include "runtime/ndarray/dims.h"

namespace mxc::ndarray {

struct Odometer {
  Dims extents, strides;
  Dims index = {};
  int64_t offset = 0;  // in the unit of the strides

  void restart() {
    index.resize(0, 0);
    index.resize(extents.size(), 0);
    offset = 0;
  }
  // To the index that is the `place`-th in order, from 0.
  void go_to(int64_t place) {
    restart();
    for (int axis = extents.size() - 1; axis >= 0; --axis) {
      index[axis] = place % extents[axis];
      place /= extents[axis];
      offset += index[axis] * strides[axis];
    }
  }
  // To the next index. At the end: to the first again, and false.
  bool advance() {
    for (int axis = extents.size() - 1; axis >= 0; --axis) {
      offset += strides[axis];
      if (++index[axis] < extents[axis]) return true;
      offset -= extents[axis] * strides[axis];
      index[axis] = 0;
    }
    return false;
  }
};

}  // namespace mxc::ndarray
