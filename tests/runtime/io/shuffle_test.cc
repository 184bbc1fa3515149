#include "runtime/io/shuffle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace mxc::io {
namespace {

TEST(Shuffle, IsAPermutation) {
  for (int64_t count : {0, 1, 2, 7, 1000}) {
    std::vector<int64_t> order = shuffled(count, 1, 0);
    std::sort(order.begin(), order.end());
    std::vector<int64_t> all(count);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(order, all);
  }
}

TEST(Shuffle, IsAFunctionOfSeedEpochAndStream) {
  EXPECT_EQ(shuffled(100, 5, 3), shuffled(100, 5, 3));
  EXPECT_NE(shuffled(100, 5, 3), shuffled(100, 5, 4));
  EXPECT_NE(shuffled(100, 5, 3), shuffled(100, 6, 3));
  EXPECT_NE(shuffled(100, 5, 3), shuffled(100, uint64_t{5} | uint64_t{1} << 32, 3));
  EXPECT_NE(shuffled(100, 5, 0), shuffled(100, 5, 0, ShuffleStream::holdout));
}

// All 24 orders of four samples come up about equally often: chi-squared with 23 degrees of freedom, 99.9 % quantile 49.7.
TEST(Shuffle, IsUniform) {
  std::vector<int> seen(256, 0);
  constexpr int kRuns = 24000;
  for (int epoch = 0; epoch < kRuns; ++epoch) {
    const std::vector<int64_t> order = shuffled(4, 9, static_cast<uint32_t>(epoch));
    seen[order[0] * 64 + order[1] * 16 + order[2] * 4 + order[3]]++;
  }
  double chi = 0;
  int kinds = 0;
  for (int count : seen) {
    if (count == 0) continue;
    ++kinds;
    chi += (count - kRuns / 24.0) * (count - kRuns / 24.0) / (kRuns / 24.0);
  }
  EXPECT_EQ(kinds, 24);
  EXPECT_LT(chi, 49.7);
}

}  // namespace
}  // namespace mxc::io
