// Compression: what stands for elements, beside plain loops; nothing is lost; what comes from outside is looked at.
#include "runtime/kv/compression.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace mxc::kv {
namespace {

constexpr plan::DType f32 = plan::DType::f32, f64 = plan::DType::f64;

Compression method(const std::string& text) {
  absl::StatusOr<Compression> parsed = parse_compression(text);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return *parsed;
}

template <typename T>
std::span<char> bytes(std::vector<T>& values) {
  return {reinterpret_cast<char*>(values.data()), values.size() * sizeof(T)};
}

template <typename T>
constexpr plan::DType dtype_of() {
  return sizeof(T) == 4 ? f32 : f64;
}

// Compresses; `x` becomes what others make of it, which is checked. Returns the bytes.
template <typename T>
std::string packed(const Compression& compression, std::vector<T>& x, std::vector<T>& residual) {
  std::string bytes_of(static_cast<size_t>(packed_bytes(compression, dtype_of<T>(), static_cast<int64_t>(x.size()))), '\0');
  pack(compression, dtype_of<T>(), bytes(x), bytes(residual), bytes_of.data());
  std::vector<T> others(x.size(), T{99});
  EXPECT_TRUE(unpack(compression, dtype_of<T>(), bytes_of, bytes(others)));
  EXPECT_EQ(std::memcmp(others.data(), x.data(), x.size() * sizeof(T)), 0);
  return bytes_of;
}

template <typename T = float>
std::vector<T> made(const std::string& text, std::vector<T> x) {
  std::vector<T> residual(x.size());
  packed(method(text), x, residual);
  return x;
}

std::vector<float> numbers(size_t count, uint32_t seed) {
  std::mt19937 random(seed);  // the same on all machines, unlike distributions
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(static_cast<int>(random() % 20001) - 10000) / 1024.0f;
  return values;
}

TEST(Compression, SixteenBits) {
  // 1 + 2^-11 lies between two numbers of 11 bits, and goes to the even one; bf16 has 8 bits; the smallest of fp16 is 2^-24.
  EXPECT_EQ(made("fp16", {1, -2.5f, 1 + std::ldexp(1.0f, -11), 1 + 3 * std::ldexp(1.0f, -11), std::ldexp(1.0f, -24), std::ldexp(1.0f, -26), 1e6f, -1e6f}),
            (std::vector<float>{1, -2.5f, 1, 1 + std::ldexp(1.0f, -9), std::ldexp(1.0f, -24), 0, 65504, -65504}));
  EXPECT_EQ(made("bf16", {1, -2.5f, 1 + std::ldexp(1.0f, -8), 1 + 3 * std::ldexp(1.0f, -8), 1e30f}),
            (std::vector<float>{1, -2.5f, 1, 1 + std::ldexp(1.0f, -6), static_cast<float>(std::ldexp(202, 92))}));
  EXPECT_EQ(made<double>("fp16", {1.0 + std::ldexp(1, -30), -0.25}), (std::vector<double>{1, -0.25}));
}

TEST(Compression, TwoBits) {
  // Magnitudes 4, 1, 3, 0, 2: their mean is 2; 4, 3 and 2 are at least that, and their mean is 3.
  EXPECT_EQ(made("2bit", {4, -1, -3, 0, 2}), (std::vector<float>{3, 0, -3, 0, 3}));
  EXPECT_EQ(made("2bit", {0, 0, 0}), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(made<double>("2bit", {-8, 0, 0, 0}), (std::vector<double>{-8, 0, 0, 0}));
}

TEST(Compression, TheLargest) {
  // A quarter of eight; of equals the first.
  EXPECT_EQ(made("topk:0.25", {1, -5, 3, 0.5f, 3, -3, 2, 1}), (std::vector<float>{0, -5, 3, 0, 0, 0, 0, 0}));
  EXPECT_EQ(made("topk:0.01", {1, -5, 3}), (std::vector<float>{0, -5, 0}));  // one at least
  EXPECT_EQ(made<double>("topk:0.5", {1, 2, 3, 4, 5}), (std::vector<double>{0, 0, 3, 4, 5}));
}

TEST(Compression, TheLargestOfManyAreThoseOfASort) {
  const Compression compression = method("topk:0.02");
  std::vector<float> x = numbers(3 * kBlock / 2, 1), given = x, residual(x.size());
  packed(compression, x, residual);
  for (size_t first : {size_t{0}, static_cast<size_t>(kBlock)}) {  // each block by itself
    const size_t count = std::min<size_t>(kBlock, x.size() - first), kept = (count * 2 + 99) / 100;
    std::vector<size_t> order(count);
    for (size_t i = 0; i < count; ++i) order[i] = first + i;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return std::abs(given[a]) > std::abs(given[b]); });
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(x[order[i]], i < kept ? given[order[i]] : 0) << i;
  }
}

// What has been sent, and what is left, are what there was to send.
TEST(Compression, NothingIsLost) {
  for (const char* text : {"fp16", "bf16", "2bit", "topk:0.1"}) {
    const Compression compression = method(text);
    std::vector<float> residual(1000);
    std::vector<double> sent(1000), wanted(1000);
    for (uint32_t step = 0; step < 50; ++step) {
      std::vector<float> x = numbers(1000, step);
      for (size_t i = 0; i < x.size(); ++i) wanted[i] += static_cast<double>(x[i]);
      packed(compression, x, residual);
      for (size_t i = 0; i < x.size(); ++i) sent[i] += static_cast<double>(x[i]);
    }
    double most = 0, left = 0;
    for (size_t i = 0; i < sent.size(); ++i) {
      most = std::max(most, std::abs(sent[i] + static_cast<double>(residual[i]) - wanted[i]));
      left = std::max(left, std::abs(static_cast<double>(residual[i])));
    }
    EXPECT_LT(most, 1e-3) << text;
    EXPECT_GT(left, 0) << text;
    EXPECT_LT(left, 250) << text;  // of 50 steps of up to 9.8: it does not grow without end
  }
}

TEST(Compression, BlocksAreCountedFromTheStart) {
  for (const char* text : {"fp16", "2bit", "topk:0.01"}) {
    const Compression compression = method(text);
    std::vector<float> whole = numbers(2 * kBlock + 77, 3), first(whole.begin(), whole.begin() + kBlock), rest(whole.begin() + kBlock, whole.end());
    std::vector<float> residual(whole.size()), of_first(first.size()), of_rest(rest.size());
    EXPECT_EQ(packed(compression, whole, residual), packed(compression, first, of_first) + packed(compression, rest, of_rest)) << text;
    first.insert(first.end(), rest.begin(), rest.end());
    EXPECT_EQ(whole, first) << text;
  }
}

TEST(Compression, Bytes) {
  EXPECT_EQ(packed_bytes(method("fp16"), f32, 1000), 2000);
  EXPECT_EQ(packed_bytes(method("bf16"), f64, 1000), 2000);
  EXPECT_EQ(packed_bytes(method("2bit"), f32, 10), 4 + 3);
  EXPECT_EQ(packed_bytes(method("2bit"), f32, kBlock + 1), 4 + kBlock / 4 + 4 + 1);
  EXPECT_EQ(packed_bytes(method("topk:0.01"), f32, 1000), 10 * 6);
  EXPECT_EQ(packed_bytes(method("topk:0.01"), f64, 1001), 11 * 10);
  EXPECT_EQ(packed_bytes(method("topk:0.01"), f32, 0), 0);
}

TEST(Compression, WhatIsNotFiniteStaysSo) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const char* text : {"fp16", "bf16", "2bit", "topk:0.25"}) {
    for (float bad : {infinity, -infinity, nan}) {
      std::vector<float> x = {1, bad, 2, 3}, residual(4);
      packed(method(text), x, residual);
      EXPECT_FALSE(std::isfinite(x[1])) << text << " " << bad;
      for (float left : residual) EXPECT_TRUE(std::isfinite(left)) << text << " " << bad;
    }
  }
}

TEST(Compression, ADifferenceLeadsToTheValue) {
  for (const char* text : {"fp16", "2bit", "topk:0.3"}) {
    const Compression compression = method(text);
    std::vector<float> exact = numbers(100, 5), value(100), others(100);
    for (int step = 0; step < 200; ++step) {
      std::string difference;
      approach(compression, f32, bytes(exact), bytes(value), &difference);
      std::vector<float> moved(100);
      ASSERT_TRUE(unpack(compression, f32, difference, bytes(moved)));
      for (size_t i = 0; i < 100; ++i) others[i] += moved[i];
      EXPECT_EQ(value, others) << text;
    }
    for (size_t i = 0; i < 100; ++i) EXPECT_NEAR(value[i], exact[i], 1e-2) << text;
  }
}

TEST(Compression, BytesFromOutside) {
  std::vector<float> x(8);
  const Compression top = method("topk:0.25"), two = method("2bit");
  std::string good(12, '\0'), bad(6, '\0');
  good[2] = 7;
  EXPECT_TRUE(unpack(top, f32, good, bytes(x)));
  for (auto [first, second] : {std::pair<char, char>{0, 8}, {3, 3}, {4, 2}}) {  // beyond the end, twice, not ascending
    std::string wrong = good;
    wrong[0] = first, wrong[2] = second;
    EXPECT_FALSE(unpack(top, f32, wrong, bytes(x)));
  }
  EXPECT_TRUE(unpack(two, f32, bad, bytes(x)));
  bad[4] = 3;
  EXPECT_FALSE(unpack(two, f32, bad, bytes(x)));  // no such code
  EXPECT_FALSE(unpack(two, f32, bad.substr(1), bytes(x)));
}

TEST(Compression, Names) {
  for (const char* text : {"fp16", "bf16", "2bit", "topk:0.01", "topk:0.5", "topk:0.05", "topk:1e-06"}) EXPECT_EQ(to_string(method(text)), text);
  EXPECT_EQ(to_string({}), "none");
  EXPECT_EQ(method("topk:0.010"), method("topk:0.01"));
  for (const char* text : {"", "fp32", "FP16", "2bits", "topk", "none"}) {
    EXPECT_EQ(parse_compression(text).status().message(), std::string("there is no compression '") + text + "': one of fp16, bf16, 2bit, topk:PART");
  }
  for (const char* text : {"topk:", "topk:0", "topk:-0.1", "topk:0.51", "topk:1", "topk:nan", "topk:inf", "topk:x", "topk:0.1x"}) {
    EXPECT_EQ(parse_compression(text).status().message(), std::string("'") + text + "': a part above 0 and at most 0.5 is expected after topk:");
  }
}

TEST(Compression, EachShardIsAPart) {
  EXPECT_EQ(contributed_parts({}, {0, 4}, 8), (std::vector<Node>{{0, 4}}));
  EXPECT_EQ(contributed_parts(method("fp16"), {2, 4}, 8), (std::vector<Node>{{2, 3}, {3, 4}}));
}

}  // namespace
}  // namespace mxc::kv
