// Sums of contributions against arithmetic in double, rounded by hand; and which types have none.
#include "runtime/kv/add.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace mxc::kv {
namespace {

using plan::DType;

// A format of 16 bits: a sign, then so many bits of exponent and of fraction.
struct Format {
  DType dtype;
  int exponent, fraction;
  int bias() const { return (1 << (exponent - 1)) - 1; }
};
constexpr Format kHalf = {DType::f16, 5, 10}, kBrain = {DType::bf16, 8, 7};

double value_of(Format format, uint16_t bits) {
  const int exponent = bits >> format.fraction & ((1 << format.exponent) - 1), fraction = bits & ((1 << format.fraction) - 1);
  const double sign = bits >> 15 ? -1 : 1;
  if (exponent == (1 << format.exponent) - 1) return fraction ? std::numeric_limits<double>::quiet_NaN() : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - format.bias() - format.fraction);
  return sign * std::ldexp(fraction + (1 << format.fraction), exponent - format.bias() - format.fraction);
}

// The nearest number of the format; of two as near, the one with an even fraction.
double rounded(Format format, double exact) {
  if (!std::isfinite(exact) || exact == 0) return exact;
  int exponent;
  std::frexp(exact, &exponent);
  const int unit = std::max(exponent - 1 - format.fraction, 1 - format.bias() - format.fraction);
  const double nearest = std::ldexp(std::nearbyint(std::ldexp(exact, -unit)), unit);
  return std::abs(nearest) >= std::ldexp(1.0, format.bias() + 1) ? std::copysign(INFINITY, exact) : nearest;
}

class SmallFloats : public testing::TestWithParam<Format> {};

// All numbers, each with some of all magnitudes. The sum of two in double is exact, or so near to the larger that it is rounded to that.
TEST_P(SmallFloats, TheExactSumIsRoundedOnce) {
  const Format format = GetParam();
  std::vector<uint16_t> all(1 << 16), sums(1 << 16), others(1 << 16);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  const auto bytes = [](std::vector<uint16_t>& numbers) { return std::span(reinterpret_cast<char*>(numbers.data()), 2 * numbers.size()); };
  for (uint32_t i = 0; i < 24; ++i) {
    const auto other = static_cast<uint16_t>(i * 2731);
    sums = all;
    others.assign(all.size(), other);
    add_into(format.dtype, bytes(sums), bytes(others));
    for (size_t at = 0; at < all.size(); ++at) {
      const double exact = value_of(format, all[at]) + value_of(format, other), sum = value_of(format, sums[at]);
      if (std::isnan(exact)) ASSERT_TRUE(std::isnan(sum)) << at << " and " << other;
      else ASSERT_EQ(sum, rounded(format, exact)) << at << " and " << other;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Add, SmallFloats, testing::Values(kHalf, kBrain),
                         [](const auto& tested) { return tested.param.dtype == DType::f16 ? "f16" : "bf16"; });

template <typename T>
T sum_of_two(DType dtype, T a, T b) {
  char into[sizeof(T)], other[sizeof(T)];
  std::memcpy(into, &a, sizeof a);
  std::memcpy(other, &b, sizeof b);
  add_into(dtype, into, other);
  std::memcpy(&a, into, sizeof a);
  return a;
}

TEST(Add, EachTypeInItsOwnArithmetic) {
  EXPECT_EQ(sum_of_two<float>(DType::f32, 16777216, 1), 16777216.0f);
  EXPECT_EQ(sum_of_two<double>(DType::f64, 16777216, 1), 16777217.0);
  EXPECT_EQ(sum_of_two<int32_t>(DType::i32, std::numeric_limits<int32_t>::max(), 1), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(sum_of_two<int64_t>(DType::i64, std::numeric_limits<int32_t>::max(), 1), int64_t{1} << 31);
}

TEST(Add, NoSumsOfSmallIntegersAndBooleans) {
  for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32, DType::i64}) EXPECT_TRUE(is_added(dtype));
  for (DType dtype : {DType::i8, DType::u8, DType::boolean}) EXPECT_FALSE(is_added(dtype));
}

}  // namespace
}  // namespace mxc::kv
