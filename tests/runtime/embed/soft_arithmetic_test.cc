// The arithmetic of targets that lack it, against the C library's.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>

extern "C" {
float mxc_soft_fmaf(float a, float b, float c);
float mxc_soft_floorf(float x);
}

namespace {

float of_bits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

void expect_same(float a, float b, float c) {
  float found = mxc_soft_fmaf(a, b, c), expected = std::fma(a, b, c);
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(found)) << a << " " << b << " " << c;
  } else {
    EXPECT_EQ(std::memcmp(&found, &expected, sizeof found), 0) << a << " * " << b << " + " << c << ": " << found << ", not " << expected;
  }
}

TEST(SoftFma, IsTheCLibrarys) {
  std::mt19937 random(1);
  for (int i = 0; i < 1000000; ++i) expect_same(of_bits(random()), of_bits(random()), of_bits(random()));
}

// Where the product lies half a unit beside c, one rounding and two differ.
TEST(SoftFma, RoundsOnce) {
  std::mt19937 random(2);
  for (int i = 0; i < 300000; ++i) {
    float a = of_bits(0x3f800000 | (random() & 0x7fffff)), b = of_bits(0x3f800000 | (random() & 0x7fffff));
    int shift = static_cast<int>(random() % 60) - 30;
    float c = std::ldexp(of_bits(0x3f800000 | (random() & 0x7ff000)), shift) * (random() % 2 ? 1 : -1);
    expect_same(a, b, c);
  }
  float a = 1 + 0x1p-12f, c = 0x1p-60f;  // a * a = 1 + 2^-11 + 2^-24, half a unit above an f32
  expect_same(a, a, c);
  expect_same(a, a, -c);
  expect_same(-a, a, c);
  EXPECT_NE(static_cast<float>(static_cast<double>(a) * a + c), std::fma(a, a, c)) << "else this test could not fail";
}

TEST(SoftFma, SmallLargeAndNone) {
  const float values[] = {0.f, -0.f, 1.f, -1.f, 0x1p-149f, -0x1p-149f, 0x1p-126f, 0x1.fffffep127f, -0x1.fffffep127f, INFINITY, -INFINITY, NAN, 0x1.8p-75f, 0x1p-74f};
  for (float a : values)
    for (float b : values)
      for (float c : values) expect_same(a, b, c);
}

TEST(SoftFloor, IsTheCLibrarys) {
  auto expect_floor = [](float x) {
    float found = mxc_soft_floorf(x), expected = std::floor(x);
    EXPECT_TRUE(std::memcmp(&found, &expected, sizeof found) == 0 || std::isnan(x)) << x;
  };
  std::mt19937 random(3);
  for (int i = 0; i < 1000000; ++i) expect_floor(of_bits(random()));
  for (int i = -100000; i < 100000; ++i) expect_floor(static_cast<float>(i) / 64);
  for (float x : {0.f, -0.f, 0x1p23f, -0x1p23f, 0x1.fffffep22f, -0x1.fffffep22f, 0x1p-149f, -0x1p-149f, INFINITY, -INFINITY}) expect_floor(x);
  EXPECT_TRUE(std::isnan(mxc_soft_floorf(NAN)));
}

}  // namespace
