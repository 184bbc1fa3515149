// Philox4x32-10: a counter-based random number generator (Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as
// 1, 2, 3", SC 2011). Any draw is computed from its position alone, hence equal for any number of threads, any partition of a
// kernel and any order.
//
// Position of a draw in mxc: (seed, step, shard, stream, iteration, element).
//     key     = words 0, 1 of philox(counter = {step low, step high, shard, stream}, key = {seed low, seed high})
//     draw    = word (element mod 4) of philox(counter = {element / 4 low, high, iteration low, high}, key)
// `stream` tells apart the random ops of a program (given at staging), `iteration` the iterations of the enclosing loop, `element`
// is the row-major position in the logical tensor (with 64-bit draws, two elements share one block: words 0-1 and 2-3).
#pragma once

#include <cstdint>

namespace mxc::core {

struct PhiloxKey {
  uint32_t word[2];
};
struct PhiloxBlock {
  uint32_t word[4];
};

// Ten rounds on one 128-bit counter.
constexpr PhiloxBlock philox(PhiloxBlock counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t a = uint64_t{0xD2511F53u} * counter.word[0];
    uint64_t b = uint64_t{0xCD9E8D57u} * counter.word[2];
    counter = {{uint32_t(b >> 32) ^ counter.word[1] ^ key.word[0], uint32_t(b),
                uint32_t(a >> 32) ^ counter.word[3] ^ key.word[1], uint32_t(a)}};
    key.word[0] += 0x9E3779B9u;
    key.word[1] += 0xBB67AE85u;
  }
  return counter;
}

constexpr PhiloxKey philox_key(uint64_t seed, uint64_t step, uint32_t shard, uint32_t stream) {
  PhiloxBlock block = philox({{uint32_t(step), uint32_t(step >> 32), shard, stream}},
                             {{uint32_t(seed), uint32_t(seed >> 32)}});
  return {{block.word[0], block.word[1]}};
}

// The 32-bit draw of one element.
constexpr uint32_t philox_draw32(PhiloxKey key, uint64_t iteration, uint64_t element) {
  uint64_t block = element / 4;
  return philox({{uint32_t(block), uint32_t(block >> 32), uint32_t(iteration), uint32_t(iteration >> 32)}}, key)
      .word[element % 4];
}

// The 64-bit draw of one element: the even word is the low half.
constexpr uint64_t philox_draw64(PhiloxKey key, uint64_t iteration, uint64_t element) {
  uint64_t block = element / 2;
  PhiloxBlock words =
      philox({{uint32_t(block), uint32_t(block >> 32), uint32_t(iteration), uint32_t(iteration >> 32)}}, key);
  uint32_t first = uint32_t(element % 2) * 2;
  return words.word[first] | uint64_t{words.word[first + 1]} << 32;
}

// Uniform in [0, 1), all values multiples of 2^-24 or 2^-53 and exact.
constexpr float philox_uniform(uint32_t draw) { return float(draw >> 8) * 0x1p-24f; }
constexpr double philox_uniform(uint64_t draw) { return double(draw >> 11) * 0x1p-53; }

}  // namespace mxc::core
