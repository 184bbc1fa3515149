// Reductions and operations along an axis, against NumPy.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "mxc/random.h"
#include "runtime/ndarray/pool.h"
#include "tests/runtime/ndarray/expected.h"

namespace mxc {
namespace {

using Reducer = NDArray (*)(NDArray, const Reduction&, Here);

TEST(Reduce, EveryChoiceOfAxes) {
  const std::pair<const char*, Reducer> reducers[] = {{"sum", sum}, {"mean", mean}, {"max", reduce_max}, {"min", reduce_min}, {"prod", reduce_prod}};
  const std::pair<const char*, Extents> choices[] = {{"all", {}},      {"0", {0}},     {"1", {1}},     {"2", {2}},
                                                     {"01", {0, 1}}, {"02", {2, 0}}, {"12", {1, -1}}, {"012", {0, 1, 2}}};
  for (const auto& [name, reducer] : reducers) {
    for (const auto& [label, axes] : choices) {
      const std::string key = std::string(name) + "." + label;
      expect_near(reducer(stored("big"), {.axes = axes}, Here::current()), stored(key), 2e-5, key);
      // A view gives what its copy gives, to the bit.
      const NDArray view = stored("big").transpose().copy().transpose();
      EXPECT_EQ(doubles(reducer(view, {.axes = axes}, Here::current())), doubles(reducer(stored("big"), {.axes = axes}, Here::current()))) << key;
    }
    const std::string key = std::string(name) + ".keep";
    expect_near(reducer(stored("big"), {.axes = {1}, .keep_dims = true}, Here::current()), stored(key), 2e-5, key);
  }
}

// Runs of memory are read where they are: of rows repeated 2^18 times, no copy of 64 MiB is made. To the bit what a copy gives.
TEST(Reduce, OfViewsWithoutACopy) {
  const NDArray row = random::uniform({64}, {.seed = 4}), rows = row.broadcast_to({1 << 18, 64});
  row.wait();
  const ndarray::Pool::Use before = ndarray::Pool::arrays().use();
  const NDArray sums = sum(rows, {.axes = {0}}), largest = reduce_max(rows), means = mean(rows, {.axes = {1}});
  wait_all();
  const ndarray::Pool::Use after = ndarray::Pool::arrays().use();
  EXPECT_LT(after.taken + after.kept - before.taken - before.kept, uint64_t{4} << 20);
  EXPECT_EQ(doubles(largest), doubles(reduce_max(row)));
  EXPECT_EQ(doubles(means.slice(0, 7, 8)), doubles(mean(row, {.keep_dims = true})));
  const NDArray copy = rows.copy();
  EXPECT_EQ(doubles(sums), doubles(sum(copy, {.axes = {0}})));
  const NDArray part = copy.reshape({64, 4096, 64}).slice(0, 1, 60, 3).slice(1, 5, 100).slice(2, 3, 50);
  for (const Extents& axes : std::vector<Extents>{{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {}}) {
    for (const Reducer reducer : {sum, mean, norm, reduce_max}) {
      EXPECT_EQ(doubles(reducer(part, {.axes = axes}, Here::current())), doubles(reducer(part.copy(), {.axes = axes}, Here::current())));
    }
  }
}

TEST(Reduce, NormAndOtherTypes) {
  expect_close(norm(stored("big"), {.axes = {1}}), "norm.1");
  expect_close(norm(stored("big"), {.axes = {2}}), "norm.2");
  expect_same(sum(stored("whole"), {.axes = {1}}), "whole_sum");
  expect_near(sum(stored("a").cast(f16), {.axes = {0}}), stored("f16_sum"), 1e-3, "f16_sum");
  expect_same(all(stored("whole") > -8, {.axes = {1}}), "all");
  expect_same(any(stored("whole") > 5, {.axes = {0}}), "any");
}

TEST(Reduce, OfNothing) {
  EXPECT_EQ(sum(NDArray::zeros({0, 2}), {.axes = {0}}).to_vector<float>(), (std::vector<float>{0, 0}));
  EXPECT_EQ(reduce_prod(NDArray::zeros({2, 0}), {.axes = {1}}).to_vector<float>(), (std::vector<float>{1, 1}));
  EXPECT_TRUE(std::isnan(mean(NDArray::zeros({0})).item<float>()));
  EXPECT_EQ(error_of([] { reduce_max(NDArray::zeros({0, 2})); }), "reduce_max: of no elements: the shape is {0, 2}");
}

TEST(Reduce, OfALargestExtentOne) {
  const NDArray x = NDArray::from({{1.0f}, {2.0f}, {4.0f}});
  EXPECT_EQ(sum(x).item<float>(), 7);
  EXPECT_EQ(sum(x, {.axes = {1}}).to_vector<float>(), (std::vector<float>{1, 2, 4}));
  EXPECT_EQ(mean(NDArray::full({}, 3)).item<float>(), 3);
}

TEST(AlongAxis, SoftmaxAndPlaces) {
  for (int axis = 0; axis < 3; ++axis) {
    const std::string n = "." + std::to_string(axis);
    expect_close(softmax(stored("big"), {axis}), "softmax" + n);
    expect_near(log_softmax(stored("big"), {axis}), stored("log_softmax" + n), 1e-5, "log_softmax" + n);
    expect_same(argmax(stored("big"), {axis}), "argmax" + n);
    expect_same(argmin(stored("big"), {axis}), "argmin" + n);
    expect_same(sort(stored("big"), {.axis = axis}), "sort" + n);
    expect_same(argsort(stored("big"), {.axis = axis}), "argsort" + n);
  }
}

TEST(AlongAxis, Orders) {
  expect_same(argsort(stored("whole"), {.axis = 1}), "argsort.whole");
  const auto [values, indices] = topk(stored("big"), {.k = 3});
  expect_same(values, "topk");
  expect_near(gather(stored("big"), indices), stored("topk"), 0, "the places of topk");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const NDArray x = NDArray::from({3.0f, nan, 1.0f, 2.0f});
  EXPECT_EQ(argsort(x).to_vector<int64_t>(), (std::vector<int64_t>{2, 3, 0, 1}));
  EXPECT_EQ(argsort(x, {.descending = true}).to_vector<int64_t>(), (std::vector<int64_t>{0, 3, 2, 1}));
  EXPECT_EQ(sort(NDArray::from({2.0f, -1.0f, 0.5f}).cast(f16)).cast(f32).to_vector<float>(), (std::vector<float>{-1, 0.5, 2}));
}

// Ten million equal numbers: added one after another in f32 they would be half a percent off.
TEST(Reduce, LongSumsDoNotDrift) {
  const float tenth = 0.1f;
  const double expected = 1e7 * static_cast<double>(tenth);
  EXPECT_NEAR(sum(NDArray::full({10000000}, tenth)).item<float>(), expected, 1);
  EXPECT_NEAR(mean(NDArray::full({10000000}, tenth)).item<float>(), tenth, 2e-7);
  EXPECT_NEAR(norm(NDArray::full({10000000}, tenth)).item<float>(), std::sqrt(1e7) * static_cast<double>(tenth), 1e-3);
  EXPECT_EQ(mean(NDArray::ones({40000000})).item<float>(), 1);
  EXPECT_EQ(sum(NDArray::ones({100000}, bf16)).item<float>(), 99840);  // the nearest bf16 to 100000
}

// Sums over any axes of numbers that f32 does not hold exactly, against a plain loop in double. Added one after another they would be off by 1e-4 and more.
TEST(Reduce, SumsOverAnyAxesAreThoseOfALoopInDouble) {
  for (const Extents& shape : std::vector<Extents>{{200000, 1, 3}, {1, 200000, 3}, {300, 700, 3}, {3, 200000, 1}, {3, 7, 30000}, {90, 3, 2100}}) {
    const NDArray x = random::uniform(shape, {.seed = 3}) + 0.1f;
    const std::vector<float> values = x.to_vector<float>();
    for (unsigned mask = 1; mask < 8; ++mask) {
      Extents axes;
      int64_t reduced = 1, kept = 1;
      std::array<int64_t, 3> strides{};  // of the result
      for (int axis = 2; axis >= 0; --axis) {
        const int64_t extent = shape[static_cast<size_t>(axis)];
        if ((mask >> axis & 1) != 0) axes.push_back(axis), reduced *= extent;
        else strides[static_cast<size_t>(axis)] = std::exchange(kept, kept * extent);
      }
      std::vector<double> sums(static_cast<size_t>(kept)), squares(sums.size());
      size_t at = 0;
      for (int64_t i = 0; i < shape[0]; ++i)
        for (int64_t j = 0; j < shape[1]; ++j)
          for (int64_t k = 0; k < shape[2]; ++k) {
            const size_t place = static_cast<size_t>(i * strides[0] + j * strides[1] + k * strides[2]);
            const double value = static_cast<double>(values[at++]);
            sums[place] += value, squares[place] += value * value;
          }
      const std::vector<float> sum_of = sum(x, {.axes = axes}).to_vector<float>(), mean_of = mean(x, {.axes = axes}).to_vector<float>(),
                               norm_of = norm(x, {.axes = axes}).to_vector<float>();
      const std::string what = to_string(NDArray::from(shape)) + " mask " + std::to_string(mask);
      double worst = 0;  // relative, over all results of all three
      for (size_t i = 0; i < sums.size(); ++i) {
        worst = std::max(worst, std::fabs(static_cast<double>(sum_of[i]) / sums[i] - 1));
        worst = std::max(worst, std::fabs(static_cast<double>(mean_of[i]) / (sums[i] / static_cast<double>(reduced)) - 1));
        worst = std::max(worst, std::fabs(static_cast<double>(norm_of[i]) / std::sqrt(squares[i]) - 1));
      }
      EXPECT_LE(worst, 2e-6) << what;
    }
  }
}

// As NumPy: np.sum and np.prod of int8, uint8 and int32 count in 64 bits, np.mean in float64; extremes keep the type.
TEST(Reduce, IntegersAreCountedInI64) {
  for (const DType dtype : {i8, u8, i32, i64, boolean}) {
    const int64_t each = dtype == boolean ? 1 : 100;
    const NDArray x = NDArray::full({3, 100}, each, dtype);
    EXPECT_EQ(sum(x).item<int64_t>(), 300 * each) << to_string(dtype);
    EXPECT_EQ(sum(x, {.axes = {0}}).dtype(), i64) << to_string(dtype);
    EXPECT_EQ(reduce_prod(x, {.axes = {0}}).to_vector<int64_t>(), std::vector<int64_t>(100, each * each * each)) << to_string(dtype);
    EXPECT_EQ(mean(x).dtype(), f64) << to_string(dtype);
    if (dtype != boolean) EXPECT_EQ(reduce_max(x).dtype(), dtype);
  }
  EXPECT_EQ(sum(NDArray::full({4}, 2147483647, i32)).item<int64_t>(), 4 * int64_t{2147483647});
  EXPECT_EQ(sum(NDArray::zeros({0}, i8)).dtype(), i64);
}

}  // namespace
}  // namespace mxc
