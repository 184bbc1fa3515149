// Views, indexing, joining and cutting, against NumPy.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/runtime/ndarray/expected.h"

namespace mxc {
namespace {

TEST(Views, ShareMemory) {
  NDArray x = NDArray::arange(0, 24);
  NDArray cube = x.reshape({2, -1, 4});
  EXPECT_EQ(cube.shape(), (Extents{2, 3, 4}));
  EXPECT_EQ(cube.transpose({2, 0, 1}).strides(), (Extents{1, 12, 4}));
  EXPECT_FALSE(cube.transpose().is_contiguous());
  EXPECT_EQ(cube[1][-1].to_vector<float>(), (std::vector<float>{20, 21, 22, 23}));
  EXPECT_EQ(cube.at({1, 2, 3}).item<float>(), 23);
  EXPECT_EQ(cube.slice(1, -2, 3)[0].flatten().to_vector<float>(), (std::vector<float>{4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(cube.slice(2, 3, 100).shape(), (Extents{2, 3, 1}));
  EXPECT_EQ(cube.slice(2, 3, 1).shape(), (Extents{2, 3, 0}));
  EXPECT_EQ(cube.expand(1).squeeze(1).expand(-1).shape(), (Extents{2, 3, 4, 1}));
  cube.at({0, 0}) = 100;
  EXPECT_EQ(x.slice(0, 0, 5).to_vector<float>(), (std::vector<float>{100, 100, 100, 100, 4}));
}

TEST(Views, ReshapesOfViewsAreViewsWherePossible) {
  NDArray x = NDArray::zeros({4, 6});
  NDArray part = x.slice(1, 0, 3);
  part.reshape({2, 2, 3, 1}) += 1;  // rows split: still a view
  EXPECT_EQ(sum(x).item<float>(), 12);
  View copied = part.reshape({12});  // rows of three cannot be one run: a copy
  copied += 1;
  EXPECT_EQ(sum(x).item<float>(), 12);
  x.transpose().reshape({3, 2, 4}) += 1;
  EXPECT_EQ(sum(x).item<float>(), 36);
  EXPECT_EQ(part.transpose().reshape({12}).to_vector<float>(), std::vector<float>(12, 2));
}

TEST(Views, BroadcastIsForReading) {
  NDArray x = NDArray::from({1.0f, 2.0f}).broadcast_to({3, 2});
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(error_of([&] { x += 1; }), "add: the array of shape {3, 2} is broadcast: it can only be read");
}

TEST(ByIndex, AsNumPy) {
  for (int axis = 0; axis < 3; ++axis) {
    const std::string key = "take." + std::to_string(axis);
    expect_same(take(stored("big"), stored("indices"), {axis}), key);
    expect_same(take(stored("big"), stored("indices").cast(i32), {axis}), key);
  }
  expect_same(gather(stored("big"), stored("along"), {1}), "gather");
  expect_same(scatter(stored("big"), stored("unique"), 9, {1}), "scatter");
  expect_same(one_hot(NDArray::from({3, 0, -3}), 4), "one_hot");
}

TEST(Join, AsNumPy) {
  const NDArray a = stored("a"), b = stored("b");
  expect_same(concat({a, b}), "concat.0");
  expect_same(concat({a, b}, {.axis = 1}), "concat.1");
  for (int axis = 0; axis < 3; ++axis) expect_same(stack({a, b}, {axis}), "stack." + std::to_string(axis));
  expect_same(tile(a, {2, 3}), "tile");
  expect_same(tile(stored("row"), {2, 1, 2}), "tile.more");
  const std::vector<float> tiled = tile(NDArray::from({1.0f, 2.0f}), {300000}).to_vector<float>();
  ASSERT_EQ(tiled.size(), 600000u);
  for (size_t i = 0; i < tiled.size(); ++i) ASSERT_EQ(tiled[i], i % 2 == 0 ? 1 : 2) << i;
  expect_same(tile(stored("a").transpose(), {3, 2}).transpose(), "tile");
  expect_same(pad(a, {.before = {1, 2}, .after = {0, 3}, .value = 7}), "pad");
  std::vector<NDArray> halves = split(stored("concat.1"), 2, {.axis = 1});
  expect_same(halves[0], "a");
  expect_same(halves[1], "b");
}

TEST(Matmul, AsNumPy) {
  const NDArray m = stored("m"), n = stored("n"), vector = stored("vector");
  expect_close(matmul(m, n), "matmul");
  expect_close(matmul(n.transpose(), m.transpose()), "matmul.t");
  expect_close(matmul(stored("batch"), stored("wide")), "matmul.batch");
  expect_close(matmul(vector, n), "matmul.row");
  expect_close(matmul(m, vector), "matmul.column");
  expect_close(matmul(vector, vector), "matmul.dot");
  expect_same(matmul(stored("whole"), stored("other").transpose()), "matmul.whole");
  expect_near(matmul(m.cast(f64), n.cast(f64)), stored("matmul"), 1e-14, "matmul of f64");
  expect_near(matmul(m.cast(f16), n.cast(f16)), stored("matmul"), 5e-3, "matmul of f16");
  // Neither rows nor columns are runs.
  NDArray gaps = NDArray::zeros({10, 16});
  gaps.slice(0, 0, 10, 2).slice(1, 0, 16, 2).assign(m);
  expect_close(matmul(gaps.slice(0, 0, 10, 2).slice(1, 0, 16, 2), n), "matmul");
  EXPECT_EQ(matmul(NDArray::zeros({2, 0}), NDArray::zeros({0, 3})).to_vector<float>(), std::vector<float>(6, 0));
}

TEST(Shapes, StepsAndExtentsAtTheEndsOfInt64) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();
  const NDArray x = NDArray::arange(0, 10).reshape({2, 5});
  for (const int64_t step : {kMost, kMost - 1, kMost / 2, int64_t{5}}) {
    EXPECT_EQ(x.slice(1, 1, 5, step).to_vector<float>(), (std::vector<float>{1, 6})) << step;
    EXPECT_EQ(x.slice(1, kLeast, kMost, step).slice(1, 0, kMost, step).to_vector<float>(), (std::vector<float>{0, 5})) << step;
  }
  EXPECT_EQ(x.slice(1, 0, 5, 4).to_vector<float>(), (std::vector<float>{0, 4, 5, 9}));
  EXPECT_EQ(x.slice(1, kMost, kLeast, kMost).shape(), (Extents{2, 0}));
  for (const int64_t step : {int64_t{-1}, -kMost, kLeast}) {
    EXPECT_EQ(error_of([&] { x.slice(1, 0, 5, step); }), "slice: the step is " + std::to_string(step) + ": at least 1");
  }
  x.slice(1, 4, 5, kMost) = -1;
  EXPECT_EQ(x.slice(1, 3, 5).to_vector<float>(), (std::vector<float>{3, -1, 8, -1}));
}

TEST(Shapes, OfNoElements) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kMany = int64_t{1} << 40;
  const NDArray none = NDArray::zeros({0, 3});
  EXPECT_EQ(none.slice(0, 0, 5, kMost).shape(), (Extents{0, 3}));
  EXPECT_EQ(none.slice(0, -5, 5).slice(1, 1, 2).shape(), (Extents{0, 1}));
  EXPECT_EQ(sum(none.slice(1, 0, 3, 2)).item<float>(), 0);
  none.slice(0, 0, 1) = 1;
  EXPECT_EQ(tile(NDArray::zeros({0}), {kMany}).shape(), Extents{0});
  EXPECT_EQ(split(NDArray::zeros({0}), 3).size(), 3u);
  EXPECT_EQ(error_of([] { split(NDArray::zeros({0}), std::numeric_limits<int64_t>::max()); }), "split: no memory for 9223372036854775807 parts");
  EXPECT_EQ(error_of([&] { take(NDArray::zeros({0, kMany, 1 << 20}), NDArray::from({0, 0, 0, 0})); }), "take: the shape {4, 1099511627776, 1048576} is too large");
}

}  // namespace
}  // namespace mxc
