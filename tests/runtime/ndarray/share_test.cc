// Long operations are shared among threads, and nobody can see it: the same bits as on the serial engine, with any number of threads.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "mxc/random.h"
#include "runtime/engine/engine.h"
#include "runtime/ndarray/array.h"
#include "runtime/ndarray/share.h"
#include "tests/runtime/ndarray/expected.h"

namespace mxc {
namespace {

using ndarray::Access;

// The same numbers as an array of another engine.
NDArray on(engine::Engine& engine, const NDArray& values) {
  const NDArray plain = values.contiguous();
  plain.wait();
  const ndarray::Array& from = *Access::peek(plain);
  NDArray array = ndarray::new_result(engine, cpu(), from.dtype, from.shape, Here::current());
  ndarray::Chunk& chunk = *Access::peek(array)->chunk;
  std::memcpy(chunk.ensure(), static_cast<const char*>(from.chunk->memory) + from.offset * ndarray::bytes_of(from.dtype), chunk.bytes);
  return array;
}

std::vector<char> bytes(const NDArray& x) {
  const NDArray plain = x.contiguous();
  plain.wait();
  const ndarray::Array& array = *Access::peek(plain);
  const char* memory = static_cast<const char*>(array.chunk->memory) + array.offset * ndarray::bytes_of(array.dtype);
  return {memory, memory + array.elements * ndarray::bytes_of(array.dtype)};
}

std::unique_ptr<engine::Engine> make(int threads) {
  engine::Engine::Options options{.naive = threads == 0};
  if (threads > 0) options.threads[static_cast<int>(engine::Lane::compute)] = threads;
  return *engine::Engine::create(options);
}

// What is done with x and y {a, b, c}, more than kShared elements each, by a name for messages.
std::vector<std::pair<std::string, std::vector<char>>> results(const NDArray& x, const NDArray& y) {
  std::vector<std::pair<std::string, std::vector<char>>> list;
  const auto keep = [&](const std::string& name, const NDArray& result) { list.emplace_back(name, bytes(result)); };
  keep("contiguous", exp(x) * y + 0.25);
  keep("cast", (x * 100).cast(i32));
  keep("comparison", x < y);
  keep("where", where(x < y, x, y));
  keep("row broadcast", x + y[0][0]);
  keep("column broadcast", x * y.slice(2, 0, 1));
  keep("backwards and with steps", x.transpose() - y.transpose());
  keep("every other", x.slice(2, 0, x.shape(2) - 1, 2) * y.slice(2, 1, y.shape(2), 2));
  NDArray update = x.copy();
  update -= 0.1f * y;
  keep("update", update);
  NDArray part = x.copy();
  part.slice(1, 1, x.shape(1)) += y.slice(1, 0, x.shape(1) - 1);
  keep("into a view", part);
  NDArray shifted = x.copy().reshape({-1});
  shifted.slice(0, 1, shifted.size()) = shifted.slice(0, 0, shifted.size() - 1);
  keep("onto itself", shifted);
  NDArray filled = x.copy();
  filled.fill(3);
  filled.slice(2, 0, 1).fill(4);
  keep("fill", filled);
  keep("transpose", x.transpose({2, 0, 1}).copy());
  for (const Extents& axes : {Extents{}, Extents{0}, Extents{1}, Extents{2}, Extents{0, 1}, Extents{0, 2}, Extents{1, 2}}) {
    std::string name;
    for (int64_t axis : axes) name += " " + std::to_string(axis);
    keep("sum" + name, sum(x, {.axes = axes}));
    keep("mean" + name, mean(x, {.axes = axes}));
    keep("norm" + name, norm(x, {.axes = axes}));
    keep("max" + name, reduce_max(x, {.axes = axes}));
  }
  for (int axis = 0; axis < 3; ++axis) {
    keep("softmax " + std::to_string(axis), softmax(x, {axis}));
    keep("log_softmax " + std::to_string(axis), log_softmax(x, {axis}));
    keep("argmax " + std::to_string(axis), argmax(x, {axis}));
  }
  return list;
}

class Share : public testing::TestWithParam<Extents> {};
INSTANTIATE_TEST_SUITE_P(Shapes, Share,
                         testing::Values(Extents{2, 3, 50'021}, Extents{50'021, 3, 2}, Extents{7, 15'013, 2}, Extents{61, 59, 53}, Extents{3, 2, 30'000}),
                         [](const auto& info) {
                           std::string name;
                           for (const int64_t extent : info.param) name += (name.empty() ? "" : "x") + std::to_string(extent);
                           return name;
                         });

TEST_P(Share, TheSameBitsWithAnyNumberOfThreads) {
  random::Generator generator(11);
  const NDArray x = generator.normal(GetParam()), y = generator.uniform(GetParam(), 0.5, 2);
  ASSERT_GE(x.size(), ndarray::kShared);
  std::unique_ptr<engine::Engine> serial = make(0);
  const auto expected = results(on(*serial, x), on(*serial, y));
  for (int threads : {1, 2, 4}) {
    std::unique_ptr<engine::Engine> engine = make(threads);
    const auto got = results(on(*engine, x), on(*engine, y));
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].second, expected[i].second) << got[i].first << " with " << threads << " threads";
  }
}

// What the parts are made of is right, too: a long array holds what short ones do.
TEST(ShareTest, LongRandomArraysBeginLikeShortOnes) {
  constexpr int64_t kShort = 1000, kLong = 3 * ndarray::kShared + 17;
  for (DType dtype : {f32, f64}) {
    const NDArray uniform = random::uniform({kLong}, {.seed = 4}, 0, 1, dtype), normal = random::normal({kLong}, {.seed = 4}, 0, 1, dtype);
    EXPECT_EQ(bytes(uniform.slice(0, 0, kShort)), bytes(random::uniform({kShort}, {.seed = 4}, 0, 1, dtype)));
    EXPECT_EQ(bytes(normal.slice(0, 0, kShort)), bytes(random::normal({kShort}, {.seed = 4}, 0, 1, dtype)));
    const double mean_of_all = mean(normal).item<double>();
    EXPECT_NEAR(mean_of_all, 0, 0.01);  // five deviations of a mean of 300000
  }
}

}  // namespace
}  // namespace mxc
