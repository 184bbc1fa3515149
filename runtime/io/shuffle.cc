// See shuffle.h.
#include "runtime/io/shuffle.h"

#include <numeric>
#include <utility>

#include "runtime/core/philox.h"

namespace mxc::io {
namespace {

// The high half of x * bound: uniform in [0, bound) up to a bias of bound / 2^64.
uint64_t below(uint64_t x, uint64_t bound) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>((static_cast<Wide>(x) * bound) >> 64);
}

}  // namespace

std::vector<int64_t> shuffled(int64_t count, uint64_t seed, uint32_t epoch, ShuffleStream stream) {
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), int64_t{0});
  for (int64_t i = count - 1; i > 0; --i) {
    const core::PhiloxBlock random =
        core::philox({{static_cast<uint32_t>(i), static_cast<uint32_t>(i >> 32), epoch, static_cast<uint32_t>(stream)}},
                     {{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}});
    const uint64_t j = below(uint64_t{random.word[1]} << 32 | random.word[0], static_cast<uint64_t>(i) + 1);
    std::swap(order[i], order[j]);
  }
  return order;
}

}  // namespace mxc::io
