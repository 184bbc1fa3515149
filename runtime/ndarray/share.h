// One operation on several threads, where it is long enough.
#pragma once

#include <cstdint>

#include "runtime/ndarray/chunk.h"

namespace mxc::ndarray {

// Elements from which on an operation is shared: some tens of microseconds of work, several times what waking a thread costs.
constexpr int64_t kShared = 100'000;

// Runs `work(begin, end)` over ranges that partition [0, grid): on threads of the engine that have nothing to do, if the operation reads or
// writes at least kShared elements; else here, in one call. Results must not depend on the partition.
// Requires: within a body of the engine that `chunk` belongs to; `work` does not throw.
template <typename Work>
void share(const Chunk& chunk, int64_t elements, int64_t grid, Work&& work) {
  if (elements < kShared) return work(int64_t{0}, grid);
  chunk.engine->share(grid, work);
}

}  // namespace mxc::ndarray
