// The blocks that sums of f32 are made of, as kernels.h states them: which runs, or rows, are added up in f32 before f64 takes them.
#pragma once

#include <cstdint>

#include "runtime/ndarray/dims.h"

namespace mxc::ndarray {

constexpr int64_t kLanes = 16;       // of f32
constexpr int64_t kBlockSteps = 64;  // the most of a block; a step is kLanes elements of a run, or a row

struct SumBlocks {
  int64_t restart = 0;  // a block begins at each multiple of this, counted in runs; 0: there is one block, or
  int64_t runs = 0;     // behind so many more
  bool within = false;  // a run has several blocks

  SumBlocks() = default;
  // `reduced`: the extents of the axes outside of a run or row, which has so many steps.
  SumBlocks(const Dims& reduced, int64_t steps) {
    within = steps > kBlockSteps;
    int64_t inside = steps, passes = 1;  // a pass of the axis has so many steps and runs
    for (int axis = reduced.size() - 1; axis >= 0 && !within; --axis) {
      if (inside * reduced[axis] > kBlockSteps) {
        restart = passes * reduced[axis];
        runs = passes * (kBlockSteps / inside);
        return;
      }
      inside *= reduced[axis];
      passes *= reduced[axis];
    }
  }
  bool none() const { return restart == 0 && !within; }
  bool begins_at(int64_t run) const { return within || run % restart % runs == 0; }
};

// The sums of a block go over into the totals.
inline void flush(int64_t n, float* __restrict sums, double* __restrict totals) {
  for (int64_t i = 0; i < n; ++i) {
    totals[i] += static_cast<double>(sums[i]);
    sums[i] = 0;
  }
}

}  // namespace mxc::ndarray
