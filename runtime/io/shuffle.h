// The order of the samples in an epoch: a pure function of (seed, epoch, count), the same on every machine.
#pragma once

#include <cstdint>
#include <vector>

namespace mxc::io {

// What a permutation is for: two purposes never share random numbers.
enum class ShuffleStream : uint32_t { epoch = 1, holdout = 2 };

// A permutation of 0 .. count-1 by Fisher-Yates. The swap at place i uses the Philox number with
// counter = (low i, high i, epoch, stream) and key = seed.
std::vector<int64_t> shuffled(int64_t count, uint64_t seed, uint32_t epoch, ShuffleStream stream = ShuffleStream::epoch);

}  // namespace mxc::io
