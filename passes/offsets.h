// Offsets for memory blocks whose lifetimes are known: blocks that live at the same time lie apart, others may share. Pure arithmetic.
#pragma once

#include <cstdint>
#include <vector>

namespace mxc::passes {

// A block of `bytes` that is in use from time `begin` to time `end`, both included.
struct Lifetime {
  int64_t begin = 0, end = 0;
  int64_t bytes = 0;
};

struct Offsets {
  std::vector<int64_t> at;  // of each block; multiples of the alignment
  int64_t bytes = 0;        // of the whole
};

// The largest sum of bytes in use at one time: what any plan needs at least.
int64_t peakLive(const std::vector<Lifetime>& blocks);

// Blocks one behind the other.
Offsets offsetsApart(const std::vector<Lifetime>& blocks, int64_t alignment);

// Blocks share where lifetimes allow: placed one by one into the smallest gap that fits, in several orders; the smallest plan of these.
// The orders: all blocks by size, by length of life or by their product; the blocks in use when most bytes are first, and then the others,
// both by keys of several kinds; then the best of these with the blocks that did not fit placed earlier. Ends early with a plan as small
// as peakLive of the aligned blocks.
Offsets offsetsShared(const std::vector<Lifetime>& blocks, int64_t alignment);

}  // namespace mxc::passes
