// What laziness means: order, held products, memory taken over, errors of operations that were queued, arrays that go while operations run.
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "mxc/random.h"
#include "runtime/engine/default_engine.h"
#include "runtime/ndarray/array.h"
#include "runtime/ndarray/pool.h"
#include "tests/runtime/ndarray/expected.h"

namespace mxc {
namespace {

using ndarray::Access;

std::vector<float> floats(const NDArray& x) { return x.to_vector<float>(); }

// An operation that holds up `x` until `*go`. Of another lane than arithmetic, which may have one thread alone.
void hold_up(const NDArray& x, const std::atomic<bool>* go) {
  ndarray::View view = ndarray::view_of(x);
  ndarray::begin_write(*view.chunk);
  engine::default_engine().push({.name = "hold up", .lane = engine::Lane::io}, {}, {view.chunk->variable}, [go]() -> absl::Status {
    while (!go->load()) std::this_thread::yield();
    return absl::OkStatus();
  });
}

TEST(Queue, OperationsReturnAtOnceAndReadersWaitForWhatTheyNeedAlone) {
  std::atomic<bool> go{false};
  NDArray slow = NDArray::ones({3}), other = NDArray::ones({3});
  hold_up(slow, &go);
  NDArray later = slow + 1;
  EXPECT_EQ(floats(other + 1), (std::vector<float>{2, 2, 2}));  // while `slow` is held up
  go = true;
  EXPECT_EQ(floats(later), (std::vector<float>{2, 2, 2}));
}

TEST(Queue, AProductIsHeldUntilItIsUsed) {
  NDArray g = NDArray::from({1.0f, 2.0f}), p = NDArray::from({10.0f, 10.0f});
  NDArray t = 0.5f * g;
  EXPECT_TRUE(Access::peek(t)->held);
  EXPECT_EQ(t.shape(), (Extents{2}));  // facts need no value
  EXPECT_TRUE(Access::peek(t)->held);
  g += 1;  // the product keeps the old value
  EXPECT_FALSE(Access::peek(t)->held);
  EXPECT_EQ(floats(t), (std::vector<float>{0.5, 1}));
  p -= 0.5f * g;
  EXPECT_EQ(floats(p), (std::vector<float>{9, 8.5}));
  NDArray kept = g * 2;
  p -= kept;  // somebody keeps it: it is queued, and subtracted
  EXPECT_EQ(floats(kept), (std::vector<float>{4, 6}));
  EXPECT_EQ(floats(p), (std::vector<float>{5, 2.5}));
  { NDArray dropped = g * 3; }
  g += 1;
  NDArray first = g * 1, second = g * 2;  // two at a time
  g[0] = 0;
  EXPECT_EQ(floats(second), (std::vector<float>{6, 8}));
  EXPECT_EQ(floats(first), (std::vector<float>{3, 4}));
  NDArray waited = g * 2;
  wait_all();
  EXPECT_FALSE(Access::peek(waited)->held);
}

// The two roundings of a product and a difference, in one operation.
TEST(Queue, UpdatesHaveTheBitsOfTheirParts) {
  random::Generator generator(3);
  for (DType dtype : {f32, f64}) {
    const NDArray g = generator.normal({1000}, 0, 1, dtype), p = generator.normal({1000}, 0, 1, dtype);
    const NDArray product = g * 0.1, twice = product + 0;  // kept: not fused
    NDArray less = p - product, more = p + product, negative = product - p;
    EXPECT_EQ(doubles(p - 0.1 * g), doubles(less));
    EXPECT_EQ(doubles(p + g * 0.1), doubles(more));
    EXPECT_EQ(doubles(g * 0.1 + p), doubles(more));
    EXPECT_EQ(doubles(g * 0.1 - p), doubles(negative));
    NDArray in_place = p.copy();
    in_place -= 0.1 * g;
    EXPECT_EQ(doubles(in_place), doubles(less));
    in_place.assign(p);
    in_place += 0.1 * g;
    EXPECT_EQ(doubles(in_place), doubles(more));
    in_place -= 0.5 * in_place;
    EXPECT_EQ(doubles(in_place), doubles(more - (more * 0.5).copy()));
  }
}

TEST(Queue, ATemporarysMemoryIsTakenOver) {
  const NDArray a = NDArray::ones({100}), b = NDArray::ones({100}), c = NDArray::ones({100});
  NDArray sum = a + b;
  const void* memory = sum.data<float>();
  NDArray moved = std::move(sum) + c;
  EXPECT_EQ(moved.data<float>(), memory);
  NDArray kept = moved + c;
  EXPECT_NE(kept.data<float>(), memory);
  const NDArray view = moved[0];
  NDArray not_taken = std::move(moved) + c;  // a view is there
  EXPECT_NE(not_taken.data<float>(), memory);
  EXPECT_EQ(view.item<float>(), 3);
  NDArray shown = a + b;
  ndarray::view_of(shown);
  memory = shown.data<float>();
  EXPECT_NE((std::move(shown) + c).data<float>(), memory);  // somebody outside may look at it
}

TEST(Queue, ErrorsReachTheReader) {
  const NDArray x = NDArray::arange(0, 6).reshape({2, 3});
  NDArray bad = take(x, NDArray::from({1, 7}), {1});
  NDArray after = bad * 2 + 1, fine = x + 1;
  EXPECT_EQ(error_of([&] { after.to_vector<float>(); }), "take: index 7 at {1} is outside of an axis of 3");
  EXPECT_EQ(error_of([&] { bad.item<float>(); }), "item: the array of shape {2, 2} has 4 elements, not one");
  EXPECT_EQ(error_of([&] { bad.wait(); }), "take: index 7 at {1} is outside of an axis of 3");
  EXPECT_EQ(floats(fine)[5], 6);
  // Writing all of it makes it good again.
  bad.fill(3);
  EXPECT_EQ(floats(bad), (std::vector<float>{3, 3, 3, 3}));
  after.assign(bad);
  EXPECT_EQ(floats(after + 1), (std::vector<float>{4, 4, 4, 4}));
  EXPECT_EQ(error_of([&] { gather(x, NDArray::from({{-4}, {0}})).wait(); }), "gather: index -4 at {0, 0} is outside of an axis of 3");
  EXPECT_EQ(error_of([&] { scatter(x, NDArray::from({{0}, {3}}), 1).wait(); }), "scatter: index 3 at {1, 0} is outside of an axis of 3");
  EXPECT_EQ(error_of([&] { one_hot(NDArray::from({4}), 4).wait(); }), "one_hot: index 4 at {0} is outside of an axis of 4");
  EXPECT_NE(error_of([] { wait_all(); }), "no error");
  EXPECT_EQ(error_of([] { wait_all(); }), "no error");
}

TEST(Queue, ArraysOfAnotherEngine) {
  auto other = engine::Engine::create({.naive = true});
  ASSERT_TRUE(other.ok());
  NDArray x = ndarray::new_result(**other, cpu(), plan::DType::f32, {2}, Here::current()), y = NDArray::ones({2});
  x.fill(1);
  x += x;  // the serial engine runs it
  EXPECT_EQ(floats(x), (std::vector<float>{2, 2}));
  const std::string text = "arrays of shapes {2} and {2} belong to two engines";
  EXPECT_EQ(error_of([&] { x + y; }), "add: " + text);
  EXPECT_EQ(error_of([&] { y.assign(x); }), "assign: " + text);
  EXPECT_EQ(error_of([&] { x.copy_to(y); }), "copy_to: the arrays belong to two engines");
}

TEST(Queue, ArraysOnAnotherDevice) {
  const NDArray x = NDArray::ones({2}), there = x.to(cpu(1));
  EXPECT_EQ(to_string(there.device()), "cpu(1)");
  NDArray more = there * 2 + there, back = NDArray::zeros({2});
  EXPECT_EQ(more.device(), cpu(1));
  more.copy_to(back);
  EXPECT_EQ(floats(back), (std::vector<float>{3, 3}));
  EXPECT_EQ(floats(more.to(cpu())), (std::vector<float>{3, 3}));
}

TEST(Queue, TheReadersLineIsTheErrorsPlace) {
  NDArray bad = take(NDArray::zeros({2}), NDArray::from({5}));
  try {
    bad.to_vector<float>();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.where.line(), __LINE__ - 3u);
  }
  EXPECT_EQ(error_of([] { wait_all(); }), "take: index 5 at {0} is outside of an axis of 2");
}

TEST(Queue, ArraysGoWhileOperationsAreQueued) {
  wait_all();
  const uint64_t before = ndarray::Pool::arrays().use().taken;
  std::atomic<bool> go{false};
  {
    NDArray x = NDArray::ones({1000}), y = NDArray::zeros({1000});
    hold_up(x, &go);
    for (int i = 0; i < 100; ++i) y = y + x * 0.5 + exp(x);
    x = NDArray();
  }
  go = true;
  wait_all();
  EXPECT_EQ(ndarray::Pool::arrays().use().taken, before);
}

// A long queue takes no more memory than what runs: results get it when their operation runs.
TEST(Queue, MemoryIsTakenWhenOperationsRun) {
  wait_all();
  ndarray::Pool::arrays().trim();
  NDArray y = NDArray::zeros({100000});
  for (int i = 0; i < 2000; ++i) y = y + 1;
  EXPECT_EQ(y[0].item<float>(), 2000);
  EXPECT_LT(ndarray::Pool::arrays().use().kept, uint64_t{40} << 20);  // 2000 results would be 800 MB
}

TEST(Queue, SeveralThreads) {
  const NDArray shared = NDArray::ones({64});
  std::vector<std::thread> threads;
  std::vector<double> results(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      NDArray own = NDArray::zeros({64});
      for (int i = 0; i < 500; ++i) {
        own += 0.5f * shared;
        NDArray product = own * 2;
        own = product - own;
      }
      results[t] = own[0].item<float>();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(results, (std::vector<double>(4, 250)));
}

// One thread writes what another has multiplied: the product has the value of before or after, never a mixture.
TEST(Queue, ProductsMeetWritesOfOtherThreads) {
  const NDArray g = NDArray::zeros({256});
  std::thread writer([&] {
    for (int i = 1; i <= 300; ++i) g.fill(i);
  });
  for (int i = 0; i < 300; ++i) {
    const std::vector<float> values = floats(2 * g);
    for (float value : values) ASSERT_EQ(value, values[0]);
  }
  writer.join();
}

// The same random program with arrays and with vectors of doubles.
TEST(Queue, RandomProgramsAgreeWithPlainLoops) {
  std::mt19937 random(11);
  auto below = [&](int n) { return static_cast<int>(random() % n); };
  constexpr int kArrays = 6, kRows = 5, kColumns = 24;
  std::vector<NDArray> arrays;
  std::vector<std::vector<double>> model(kArrays, std::vector<double>(kRows * kColumns));
  for (auto& values : model) {
    for (double& value : values) value = below(17) - 8;
    arrays.push_back(NDArray::from(std::vector<double>(values), {kRows, kColumns}));
  }
  for (int step = 0; step < 3000; ++step) {
    const int a = below(kArrays), b = below(kArrays), c = below(kArrays);
    const double number = below(9) - 4;
    std::vector<double> result = model[c];
    auto each = [&](auto f) {
      for (size_t i = 0; i < result.size(); ++i) result[i] = f(model[a][i], model[b][i]);
    };
    switch (below(8)) {
      case 0: arrays[c] = arrays[a] + arrays[b], each([](double x, double y) { return x + y; }); break;
      case 1: arrays[c] = arrays[a] - number * arrays[b], each([&](double x, double y) { return x - number * y; }); break;
      case 2: arrays[c].assign(maximum(arrays[a], arrays[b])), each([](double x, double y) { return std::max(x, y); }); break;
      case 3: arrays[c] = arrays[a].copy() * 0.5 + arrays[b] * 0.25, each([](double x, double y) { return x * 0.5 + y * 0.25; }); break;
      case 4: {
        const int row = below(kRows);
        arrays[c][row] = arrays[a][row] - 1;
        for (int i = 0; i < kColumns; ++i) result[row * kColumns + i] = model[a][row * kColumns + i] - 1;
        break;
      }
      case 5: {
        const int from = below(kColumns - 4);
        arrays[c].slice(1, from, from + 4) -= 0.5 * arrays[a].slice(1, from, from + 4);
        for (int r = 0; r < kRows; ++r) {
          for (int i = from; i < from + 4; ++i) result[r * kColumns + i] -= 0.5 * model[a][r * kColumns + i];
        }
        break;
      }
      case 6: {
        arrays[c] = where(arrays[a] > arrays[b], arrays[a], arrays[b]) + sum(arrays[a], {.axes = {0}}) * 0.125;
        std::vector<double> sums(kColumns);
        for (int i = 0; i < kRows * kColumns; ++i) sums[i % kColumns] += model[a][i];
        for (int i = 0; i < kRows * kColumns; ++i) result[i] = std::max(model[a][i], model[b][i]) + sums[i % kColumns] * 0.125;
        break;
      }
      default: arrays[c] = clip(arrays[a], -8, 8), each([](double x, double) { return std::clamp(x, -8.0, 8.0); });
    }
    model[c] = result;
    if (std::fabs(result[0]) > 1e6 || step % 50 == 49) {
      arrays[c] = clip(arrays[c], -8, 8);
      for (double& value : model[c]) value = std::clamp(value, -8.0, 8.0);
    }
  }
  for (int i = 0; i < kArrays; ++i) {
    const std::vector<double> got = arrays[i].to_vector<double>();
    for (size_t k = 0; k < got.size(); ++k) ASSERT_NEAR(got[k], model[i][k], 1e-9 * std::max(1.0, std::fabs(model[i][k]))) << i << " " << k;
  }
}

}  // namespace
}  // namespace mxc
