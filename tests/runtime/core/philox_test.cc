// Against the known answers published with Random123 (kat_vectors, philox4x32 with 10 rounds).
#include "runtime/core/philox.h"

#include <gtest/gtest.h>

namespace mxc::core {
namespace {

void expect_block(PhiloxBlock got, PhiloxBlock expected) {
  for (int i = 0; i < 4; ++i) EXPECT_EQ(got.word[i], expected.word[i]) << i;
}

TEST(Philox, KnownAnswers) {
  expect_block(philox({{0, 0, 0, 0}}, {{0, 0}}), {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
  uint32_t ones = 0xffffffff;
  expect_block(philox({{ones, ones, ones, ones}}, {{ones, ones}}), {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
  expect_block(philox({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, {{0xa4093822, 0x299f31d0}}),
               {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});
}

TEST(Philox, EveryPartOfThePositionCounts) {
  PhiloxKey key = philox_key(1, 2, 3, 4);
  uint32_t draw = philox_draw32(key, 5, 6);
  EXPECT_NE(draw, philox_draw32(philox_key(9, 2, 3, 4), 5, 6));
  EXPECT_NE(draw, philox_draw32(philox_key(1, 9, 3, 4), 5, 6));
  EXPECT_NE(draw, philox_draw32(philox_key(1, 2, 9, 4), 5, 6));
  EXPECT_NE(draw, philox_draw32(philox_key(1, 2, 3, 9), 5, 6));
  EXPECT_NE(draw, philox_draw32(key, 9, 6));
  EXPECT_NE(draw, philox_draw32(key, 5, 9));
  EXPECT_NE(draw, philox_draw32(key, 5, 6 + (uint64_t{1} << 34)));
}

TEST(Philox, ElementsShareBlocks) {
  PhiloxKey key = philox_key(7, 0, 0, 0);
  PhiloxBlock block = philox({{3, 0, 2, 0}}, key);
  EXPECT_EQ(philox_draw32(key, 2, 14), block.word[2]);
  EXPECT_EQ(philox_draw64(key, 2, 7), (uint64_t{block.word[3]} << 32 | block.word[2]));
}

TEST(Philox, UniformHasTheMomentsOfTheUniformDistribution) {
  PhiloxKey key = philox_key(42, 0, 0, 1);
  double sum = 0, squares = 0;
  int count = 1 << 18;
  for (int i = 0; i < count; ++i) {
    float u = philox_uniform(philox_draw32(key, 0, static_cast<uint64_t>(i)));
    ASSERT_GE(u, 0.0f);
    ASSERT_LT(u, 1.0f);
    sum += u;
    squares += double{u} * u;
  }
  // Standard errors: 0.289 / 512 and 0.298 / 512.
  EXPECT_NEAR(sum / count, 0.5, 0.003);
  EXPECT_NEAR(squares / count, 1.0 / 3, 0.003);
  EXPECT_EQ(philox_uniform(uint32_t{0xffffffff}), 1 - 0x1p-24f);
  EXPECT_EQ(philox_uniform(~uint64_t{0}), 1 - 0x1p-53);
}

}  // namespace
}  // namespace mxc::core
