// Random arrays: Philox by position (core/philox.h), and the moments of what is made of it.
#include "mxc/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <thread>
#include <vector>

#include "runtime/core/philox.h"
#include "tests/runtime/ndarray/expected.h"

namespace mxc {
namespace {

TEST(Random, UniformNumbersAreThoseOfThePosition) {
  const random::Key key{.seed = 7, .step = 3, .shard = 1, .stream = 2};
  const auto words = core::philox_key(7, 3, 1, 2);
  const std::vector<float> got = random::uniform({3, 50}, key).to_vector<float>();
  const std::vector<double> wide = random::uniform({5}, key, 0, 1, f64).to_vector<double>();
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], core::philox_uniform(core::philox_draw32(words, 0, i))) << i;
  for (size_t i = 0; i < wide.size(); ++i) EXPECT_EQ(wide[i], core::philox_uniform(core::philox_draw64(words, 0, i))) << i;
  const std::vector<bool> chosen = random::bernoulli({150}, key, 0.25).to_vector<bool>();
  for (size_t i = 0; i < chosen.size(); ++i) EXPECT_EQ(chosen[i], got[i] < 0.25f) << i;
}

TEST(Random, RangesAndMoments) {
  random::Generator generator(5);
  const NDArray u = generator.uniform({100000}, -2, 6), z = generator.normal({100000}, 1, 3);
  EXPECT_NEAR(mean(u).item<float>(), 2, 0.05);
  EXPECT_GE(reduce_min(u).item<float>(), -2);
  EXPECT_LE(reduce_max(u).item<float>(), 6);
  EXPECT_NEAR(mean(z).item<float>(), 1, 0.05);
  EXPECT_NEAR(std::sqrt(mean(square(z - 1)).item<float>()), 3, 0.05);
  EXPECT_NEAR(mean(generator.bernoulli({100000}, 0.3).cast(f32)).item<float>(), 0.3, 0.01);
  EXPECT_EQ(generator.normal({10}, 0, 1, f16).dtype(), f16);
}

TEST(Random, EachDrawIsAnother) {
  random::Generator one(1), again(1), other(2);
  const NDArray first = one.uniform({8}), second = one.uniform({8});
  EXPECT_NE(first.to_vector<float>(), second.to_vector<float>());
  EXPECT_EQ(first.to_vector<float>(), again.uniform({8}).to_vector<float>());
  EXPECT_NE(first.to_vector<float>(), other.uniform({8}).to_vector<float>());
  EXPECT_EQ(second.to_vector<float>(), random::uniform({8}, {.seed = 1, .step = 1}).to_vector<float>());
}

TEST(Random, CopiesAndThreadsShareAGenerator) {
  random::Generator generator(9);
  random::Generator copy = generator;
  EXPECT_EQ(generator.next().step, 0u);
  EXPECT_EQ(copy.next().step, 1u);
  constexpr int kThreads = 4, kDraws = 50;
  std::vector<float> drawn[kThreads];
  std::vector<std::thread> threads;
  for (std::vector<float>& mine : drawn) {
    threads.emplace_back([&generator, &mine] {
      for (int i = 0; i < kDraws; ++i) mine.push_back(generator.uniform({1}).item<float>());
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::multiset<float> got, expected;
  for (const std::vector<float>& mine : drawn) got.insert(mine.begin(), mine.end());
  for (uint64_t step = 2; step < 2 + kThreads * kDraws; ++step) {
    expected.insert(core::philox_uniform(core::philox_draw32(core::philox_key(9, step, 0, 0), 0, 0)));
  }
  EXPECT_EQ(got, expected);
}

// A wrong call takes no key.
TEST(Random, AWrongCallDrawsNothing) {
  random::Generator generator(9);
  EXPECT_EQ(error_of([&] { generator.uniform({2}, 1, 1); }), "uniform: [1, 1) is empty");
  EXPECT_EQ(error_of([&] { generator.normal({2}, 0, -1); }), "normal: the deviation is -1");
  EXPECT_EQ(error_of([&] { generator.bernoulli({2}, 2); }), "bernoulli: the probability is 2");
  EXPECT_EQ(generator.next().step, 0u);
}

// [low, high) has no high, also where the nearest number to a draw is high.
TEST(Random, UniformNumbersStayBelowTheirEnd) {
  const random::Key key{.seed = 3};
  const float next = std::nextafter(1.0f, 2.0f);
  for (float v : random::uniform({1000}, key, 1, next).to_vector<float>()) EXPECT_EQ(v, 1);
  const double next_double = std::nextafter(1.0, 2.0);
  for (double v : random::uniform({1000}, key, 1, next_double, f64).to_vector<double>()) EXPECT_EQ(v, 1);
  // Of 100000 draws some 24, and 200, lie nearer to 1 than to any other number of the type.
  EXPECT_EQ(reduce_max(random::uniform({100000}, key, 0, 1, f16)).item<float>(), 1 - 0x1p-11f);
  EXPECT_EQ(reduce_max(random::uniform({100000}, key, 0, 1, bf16)).item<float>(), 1 - 0x1p-8f);
  EXPECT_LT(reduce_max(random::uniform({100000}, key, -1, 0, f16)).item<float>(), 0);
  EXPECT_LT(reduce_max(random::uniform({100000}, key, -3, -2, bf16)).item<float>(), -2);
  EXPECT_EQ(error_of([&] { random::uniform({1}, key, -1e308, 1e308, f64); }), "uniform: [-1e+308, 1e+308) is too wide for f64");
  EXPECT_EQ(error_of([&] { random::uniform({1}, key, -3e38, 3e38); }), "uniform: [-3e+38, 3e+38) is too wide for f32");
  EXPECT_EQ(error_of([&] { random::uniform({1}, key, 1.0001, 1.0002, f16); }), "uniform: [1.0001, 1.0002) holds no f16");
  EXPECT_EQ(error_of([&] { random::uniform({1}, key, 0, INFINITY); }), "uniform: [0, inf) is too wide for f32");
  EXPECT_EQ(error_of([&] { random::uniform({1}, key, 0, 1e6, f16); }), "uniform: [0, 1e+06) is too wide for f16");
  EXPECT_EQ(error_of([&] { random::uniform({1}, key, -1e6, 0, f16); }), "uniform: [-1e+06, 0) is too wide for f16");
  EXPECT_EQ(error_of([&] { random::uniform({1}, key, -60000, 60000, f16); }), "uniform: [-60000, 60000) is too wide for f16");
  EXPECT_EQ(error_of([&] { random::uniform({1}, key, 0, 1e39, bf16); }), "uniform: [0, 1e+39) is too wide for bf16");
  EXPECT_LE(reduce_max(random::uniform({1000}, key, 0, 65504, f16)).item<float>(), 65504);
}

TEST(Random, MomentsThatTheTypeHasNot) {
  random::Generator generator(9);
  EXPECT_EQ(error_of([&] { generator.normal({1}, 0, INFINITY); }), "normal: the deviation is inf: no finite f32");
  EXPECT_EQ(error_of([&] { generator.normal({1}, 0, 1e300); }), "normal: the deviation is 1e+300: no finite f32");
  EXPECT_EQ(error_of([&] { generator.normal({1}, 1e6, 1, f16); }), "normal: the mean is 1e+06: no finite f16");
  EXPECT_EQ(error_of([&] { generator.normal({1}, NAN, 1, f64); }), "normal: the mean is nan: no finite f64");
  EXPECT_EQ(generator.next().step, 0u);
  EXPECT_EQ(random::normal({2}, {}, 1e300, 0, f64).to_vector<double>(), (std::vector<double>{1e300, 1e300}));
}

}  // namespace
}  // namespace mxc
