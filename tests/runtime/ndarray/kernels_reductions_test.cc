// Reductions, places of extremes and softmax of runs: against plain loops in double and the rule that kernels.h states.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/runtime/ndarray/kernel_elements.h"

namespace mxc::ndarray {
namespace {

// ---- Reductions: the rule of kernels.h in plain loops --------------------------------------------------------------------------------
template <typename T>
struct Fold {
  const char* name;
  T identity;
  T (*combine)(T, T);
  T (*term)(T);
  T (*finish)(T, int64_t);
};
template <typename T>
std::vector<Fold<T>> folds() {
  auto same = [](T x) { return x; };
  auto kept = [](T x, int64_t) { return x; };
  auto sum = [](T a, T b) { return static_cast<T>(a + b); };
  return {{"reduce_sum", 0, sum, same, kept},
          {"reduce_mean", 0, sum, same, [](T x, int64_t n) { return x / static_cast<T>(n); }},
          {"reduce_prod", 1, [](T a, T b) { return a * b; }, same, kept},
          {"reduce_max", -std::numeric_limits<T>::infinity(), [](T a, T b) { return a > b ? a : b; }, same, kept},
          {"reduce_min", std::numeric_limits<T>::infinity(), [](T a, T b) { return a < b ? a : b; }, same, kept},
          {"norm", 0, sum, [](T x) { return x * x; }, [](T x, int64_t) { return std::sqrt(x); }}};
}

// `runs` of n elements one after another: element i of each in lane i mod lanes; then halves. `in_blocks`: each 64 elements of a lane are added up on their
// own, and these sums in double.
template <typename T>
T by_rule(const Fold<T>& fold, const T* x, int64_t runs, int64_t n, bool in_blocks) {
  constexpr int64_t kLanes = sizeof(T) == 8 ? 8 : 16;
  T lanes[kLanes];
  double totals[kLanes] = {};
  std::fill(lanes, lanes + kLanes, fold.identity);
  for (int64_t r = 0; r < runs; ++r) {
    for (int64_t i = 0; i < n; ++i) {
      T& lane = lanes[i % kLanes];
      if (in_blocks && i / kLanes % 64 == 0) {
        totals[i % kLanes] += static_cast<double>(lane);
        lane = 0;
      }
      lane = fold.combine(lane, fold.term(x[r * n + i]));
    }
  }
  for (int64_t i = 0; in_blocks && i < kLanes; ++i) lanes[i] = static_cast<T>(totals[i] + static_cast<double>(lanes[i]));
  for (int64_t half = kLanes / 2; half > 0; half /= 2)
    for (int64_t i = 0; i < half; ++i) lanes[i] = fold.combine(lanes[i], lanes[i + half]);
  return fold.finish(lanes[0], runs * n);
}

template <typename T>
void check_reductions(DType d) {
  for (const Fold<T>& fold : folds<T>()) {
    const Kernel* whole = find_kernel(fold.name, d);
    const Kernel* carried = find_kernel(std::string(fold.name) + ".run", d);
    ASSERT_NE(whole, nullptr) << fold.name;
    ASSERT_EQ(carried == nullptr, std::string(fold.name) == "reduce_mean") << "the mean of several runs needs their count";
    for (int64_t n : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 100, 1000, 1024, 1025, 2047, 4097, 12345}) {
      constexpr int64_t kRuns = 3;
      Elements x(d, draw(kRuns * n, 0.5, 1.5, n));
      const T* values = static_cast<const T*>(x.data());
      const bool adds = fold.combine(1, 2) == 3 && fold.identity == 0;
      EXPECT_EQ(run(*whole, {&x}, n, 1).as<T>(0), by_rule(fold, values, 1, n, adds && sizeof(T) == 4)) << fold.name << " of " << n;
      if (!carried) continue;
      ASSERT_EQ(carried->lanes, sizeof(T) == 8 ? 8 : 16);
      alignas(64) char state[128];
      start(*carried, state);
      T result = 0;
      for (int64_t r = 0; r < kRuns; ++r) {
        void* args[] = {const_cast<T*>(values) + r * n, state, &result};
        carried->run(args, n, 0, cells(*carried, n));
        EXPECT_EQ(result, by_rule(fold, values, r + 1, n, false)) << fold.name << " of " << r + 1 << " x " << n;
      }
    }
  }
}

TEST(Kernels, ReductionsFollowTheStatedRuleBitForBit) {
  check_reductions<float>(DType::f32);
  check_reductions<double>(DType::f64);
}

TEST(Kernels, ReductionsOfSmallFloatsAndIntegers) {
  for (DType d : {DType::f16, DType::bf16, DType::i8, DType::u8, DType::i32, DType::i64})
    for (int64_t n : {1, 3, 16, 21, 50}) {
      Elements x(d, draw(n, 0, 3, n));
      double sum = 0, max = x[0], min = x[0], product = 1;
      for (int64_t i = 0; i < n; ++i) sum += x[i], max = std::max(max, x[i]), min = std::min(min, x[i]), product *= x[i];
      double e = is_float(d) ? epsilon(d) : 0;
      auto value = [&](const char* name) { return run(*find_kernel(name, d), {&x}, n, 1)[0]; };
      expect_near(value("reduce_sum"), sum, sum * e, "sum");
      EXPECT_EQ(value("reduce_max"), max);
      EXPECT_EQ(value("reduce_min"), min);
      double mean = sum / static_cast<double>(n);
      expect_near(value("reduce_mean"), is_float(d) ? mean : std::trunc(mean), mean * e, "mean");
      if (is_float(d)) expect_near(value("norm"), [&] {
        double squares = 0;
        for (int64_t i = 0; i < n; ++i) squares += x[i] * x[i];
        return std::sqrt(squares);
      }(), sum * e, "norm");
      if (n <= 3) expect_near(value("reduce_prod"), product, product * e * 2, "prod");
    }
}

TEST(Kernels, PlacesOfTheExtremes) {
  Elements x(DType::f32, {3, 9, 1, 9, 1, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 9, 1});
  EXPECT_EQ(run(*find_kernel("argmax", DType::f32), {&x}, x.size(), 1).as<int32_t>(0), 1);
  EXPECT_EQ(run(*find_kernel("argmin", DType::f32), {&x}, x.size(), 1).as<int32_t>(0), 2);
  x.set(17, kNaN);
  EXPECT_EQ(run(*find_kernel("argmax", DType::f32), {&x}, x.size(), 1).as<int32_t>(0), 17);
  EXPECT_EQ(run(*find_kernel("argmin", DType::f32), {&x}, x.size(), 1).as<int32_t>(0), 17);
  for (DType d : kAll) {
    Elements flags(d, {0, 0, 1, 0, 1});
    EXPECT_EQ(run(*find_kernel("argmax", d), {&flags}, 5, 1).as<int32_t>(0), 2) << static_cast<int>(d);
    EXPECT_EQ(run(*find_kernel("argmin", d), {&flags}, 5, 1).as<int32_t>(0), 0) << static_cast<int>(d);
  }
}

TEST(Kernels, SoftmaxOfRows) {
  for (DType d : kFloats)
    for (int64_t n : {1, 3, 10, 16, 37}) {
      Elements x(d, draw(n, -6, 6, n));
      double max = -kInfinity, sum = 0;
      for (int64_t i = 0; i < n; ++i) max = std::max(max, x[i]);
      for (int64_t i = 0; i < n; ++i) sum += std::exp(x[i] - max);
      Elements y = run(*find_kernel("softmax", d), {&x}, n, n), l = run(*find_kernel("log_softmax", d), {&x}, n, n);
      for (int64_t i = 0; i < n; ++i) {
        expect_near(y[i], std::exp(x[i] - max) / sum, 8 * epsilon(d), "softmax");
        expect_near(l[i], x[i] - max - std::log(sum), 16 * 8 * epsilon(d), "log_softmax");
      }
    }
}

}  // namespace
}  // namespace mxc::ndarray
