// The store of one process, and what is wrong with a call, which is the same for all kinds.
#include "mxc/kvstore.h"

#include <gtest/gtest.h>

#include "runtime/kv/store.h"
#include "tests/runtime/error_line.h"

namespace mxc {
namespace {

std::vector<float> values(const NDArray& array) { return array.flatten().to_vector<float>(); }

TEST(KVStoreLocal, APullBringsTheFirstValue) {
  KVStore kv = KVStore::create();
  const NDArray first = NDArray::from({{1.0f, 2.0f}, {3.0f, 4.0f}});
  kv.init("w", first);
  first.fill(0);  // the store has a copy
  const NDArray target = NDArray::zeros({2, 2});
  kv.pull("w", target);
  EXPECT_EQ(values(target), (std::vector<float>{1, 2, 3, 4}));
}

// 2bit: of magnitudes 4, 1, 3 the mean is 8 / 3; 4 and 3 are above it, and their mean is 3.5. What is left out, 0.5, 1 and 0.5, comes with the next push.
TEST(KVStoreLocal, CompressedPushesLeaveTheRestForTheNext) {
  KVStore kv = KVStore::create("local", {.compress = "2bit"});
  kv.init({"w", "count"}, {NDArray::zeros({3}), NDArray::zeros({2}, i32)});
  const NDArray target = NDArray::zeros({3}), count = NDArray::zeros({2}, i32);
  kv.push("w", NDArray::from({4.0f, 1.0f, -3.0f}));
  kv.pull("w", target);
  EXPECT_EQ(values(target), (std::vector<float>{3.5f, 0, -3.5f}));
  kv.push("w", NDArray::from({-0.5f, 1.0f, 0.5f}));  // with the rest 0, 2, 1: 2 and 1 are at least their mean, 1
  kv.pull("w", target);
  EXPECT_EQ(values(target), (std::vector<float>{0, 1.5f, 1.5f}));
  kv.push("count", NDArray::from({7, 9}));  // whole numbers are never compressed
  kv.pull("count", count);
  EXPECT_EQ(count.to_vector<int32_t>(), (std::vector<int32_t>{7, 9}));
}

// With an updater, pulls bring values that follow the exact ones.
TEST(KVStoreLocal, CompressedPullsFollowTheValue) {
  KVStore kv = KVStore::create("local", {.compress = "topk:0.5"});
  std::vector<float> seen;
  kv.set_updater([&](const KVUpdate& update) {
    update.value += update.gradient + 1.0f;
    seen = values(update.value);
  });
  kv.init("w", NDArray::from({1.0f, 1.0f}));
  const NDArray target = NDArray::zeros({2});
  kv.push("w", NDArray::from({4.0f, 1.0f}));  // 4 goes
  kv.pull("w", target);
  EXPECT_EQ(seen, (std::vector<float>{6, 2}));
  EXPECT_EQ(values(target), (std::vector<float>{6, 1}));  // of the differences 5 and 1
  kv.push("w", NDArray::from({0.0f, 0.0f}));  // the 1 that was left out
  kv.pull("w", target);
  EXPECT_EQ(seen, (std::vector<float>{7, 4}));
  EXPECT_EQ(values(target), (std::vector<float>{6, 4}));  // of 1 and 3
}

TEST(KVStoreLocal, WithoutAnUpdaterTheSumReplacesTheValue) {
  KVStore kv = KVStore::create("local", {.shards = 2});
  kv.init("w", NDArray::ones({2}));
  const NDArray target = NDArray::zeros({2});
  kv.push("w", {NDArray::from({1.0f, 2.0f}), NDArray::from({10.0f, 20.0f})});
  kv.pull("w", target);
  EXPECT_EQ(values(target), (std::vector<float>{11, 22}));
  kv.push("w", {NDArray::from({5.0f, 5.0f}), NDArray::from({1.0f, 1.0f})});
  kv.pull("w", target);
  EXPECT_EQ(values(target), (std::vector<float>{6, 6}));
}

TEST(KVStoreLocal, TheUpdaterIsTheUsers) {
  KVStore kv = KVStore::create();
  std::vector<int64_t> steps;
  kv.set_updater([&](const KVUpdate& update) {
    EXPECT_EQ(update.key, "w");
    EXPECT_EQ(update.first, 0);
    EXPECT_EQ(update.shards, 1);
    EXPECT_EQ(update.value.shape(), Extents{4});
    steps.push_back(update.step);
    update.value -= 0.5f * update.gradient;
  });
  kv.init("w", NDArray::full({2, 2}, 10));
  const NDArray target = NDArray::zeros({2, 2});
  for (int i = 0; i < 3; ++i) kv.push("w", NDArray::full({2, 2}, 2));
  kv.pull("w", target);
  EXPECT_EQ(values(target), std::vector<float>(4, 7));
  EXPECT_EQ(steps, (std::vector<int64_t>{1, 2, 3}));
}

// ((big + 1) + (1 + 1)) in f32, where big + 1 is big.
TEST(KVStoreLocal, ShardsAreAddedByTheTree) {
  KVStore kv = KVStore::create("local", {.shards = 4});
  kv.init("w", NDArray::zeros({1}));
  const NDArray target = NDArray::zeros({1});
  auto one = [](float value) { return NDArray::full({1}, value); };
  kv.push("w", {one(16777216), one(1), one(1), one(1)});
  kv.pull("w", target);
  EXPECT_EQ(target.item<float>(), 16777218.0f);
}

// ((2048 + 1) + (1 + 1)) in f16, whose numbers from 2048 on are even, and the like in bf16: each sum is rounded, not the whole alone (2051 would be 2052).
TEST(KVStoreLocal, SumsOfSmallFloatsAreRoundedAtEachNode) {
  KVStore kv = KVStore::create("local", {.shards = 4});
  for (auto [type, large] : {std::pair{f16, 2048.0f}, {bf16, 256.0f}}) kv.init(to_string(type), NDArray::zeros({1}, type));
  for (auto [type, large] : {std::pair{f16, 2048.0f}, {bf16, 256.0f}}) {
    const NDArray target = NDArray::zeros({1}, type), one = NDArray::full({1}, 1, type);
    kv.push(to_string(type), {NDArray::full({1}, large, type), one, one, one});
    kv.pull(to_string(type), target);
    EXPECT_EQ(target.cast(f32).item<float>(), large + 2) << to_string(type);
  }
}

TEST(KVStoreLocal, PullsIntoViews) {
  KVStore kv = KVStore::create();
  kv.init("w", NDArray::from({1.0f, 2.0f}));
  const NDArray matrix = NDArray::zeros({2, 2});
  kv.pull("w", matrix.transpose()[1]);
  EXPECT_EQ(values(matrix), (std::vector<float>{0, 1, 0, 2}));
}

TEST(KVStoreLocal, AProcessThatIsAloneIsTheJob) {
  KVStore kv = KVStore::create("dist_sync", {.shards = 3});
  EXPECT_EQ(kv.rank(), 0);
  EXPECT_EQ(kv.size(), 1);
  EXPECT_EQ(kv.shards(), 3);
  EXPECT_EQ(kv.first_shard(), 0);
  EXPECT_EQ(kv.own_shards(), 3);
  kv.barrier();
  kv.close();
  kv.close();
}

TEST(KVStoreErrors, Kinds) {
  expect_here([] { KVStore::create("dist_synch"); }, "create: there is no kind 'dist_synch'; did you mean 'dist_sync'?");
  expect_here([] { KVStore::create("locale"); }, "create: there is no kind 'locale'; did you mean 'local'?");
  expect_here([] { KVStore::create("nonsense"); },
              "create: there is no kind 'nonsense': one of local, dist_sync, dist_bounded:STEPS, dist_async");
  expect_here([] { KVStore::create("dist_bounded:x"); },
              "create: 'dist_bounded:x': a number of steps from 0 to 1000 is expected after dist_bounded:");
  expect_here([] { KVStore::create("local", {.shards = -1}); }, "create: -1 shards");
  expect_here([] { KVStore::create("dist_async", {.local = "sometimes"}); }, "create: local: 'sometimes' is neither sync nor async");
  for (const char* kind : {"local", "dist_sync", "dist_bounded:2"}) {
    expect_here([&] { KVStore::create(kind, {.local = "async"}); },
                "create: local: async is for dist_async: of the other kinds a step is one sum of all shards, and none can go before it");
  }
  expect_here([] { KVStore::create("dist_async", {.compress = "fp16", .local = "async"}); }, "create: local: async does not go with compression");
  expect_here([] { KVStore::create("dist_sync", {.machine_sums = "often"}); }, "create: machine_sums: 'often' is none of auto, on, off");
  expect_here([] { KVStore::create("dist_async", {.machine_sums = "on"}); },
              "create: machine_sums: on: a machine's processes do not add up in dist_async, where each push is an update of its own");
  expect_here([] { KVStore::create("local", {.servers = -1}); }, "create: -1 servers");
  expect_here([] { KVStore::create("dist_sync", {.servers = 2}); }, "create: 2 servers of 1 workers: each is one of them");
  expect_here([] { KVStore::create("local", {.compress = "zip"}); }, "create: there is no compression 'zip': one of fp16, bf16, 2bit, topk:PART");
  expect_here([] { KVStore::create("local", {.compress = "topk:2"}); }, "create: 'topk:2': a part above 0 and at most 0.5 is expected after topk:");
}

TEST(KVStoreErrors, Keys) {
  KVStore kv = KVStore::create();
  const NDArray w = NDArray::zeros({2, 3});
  expect_here([&] { kv.push("w", w); }, "push: there is no key 'w'; there are none");
  kv.init("w", w);
  expect_here([&] { kv.init("w", w); }, "init: key 'w' is there already");
  expect_here([&] { kv.init("", w); }, "init: a key has no name");
  expect_here([&] { kv.init("h", NDArray::zeros({2}, i8)); }, "init: key 'h' is i8: arrays of f16, bf16, f32, f64, i32 and i64 are added");
  expect_here([&] { kv.init("h", NDArray::zeros({2}, boolean)); }, "init: key 'h' is boolean: arrays of f16, bf16, f32, f64, i32 and i64 are added");
  expect_here([&] { kv.init(std::vector<std::string>{"a", "b"}, {w}); }, "init: 2 keys and 1 values");
  kv.init({"b", "c"}, {NDArray::zeros({3}), w});
  expect_here([&] { kv.pull("v", w); }, "pull: there is no key 'v'; there are 'w', 'b', 'c'");
  kv.pull("w", w);
  expect_here([&] { kv.init("late", w); }, "init: key 'late': keys are initialised before the first push or pull");
  expect_here([&] { kv.set_updater([](const KVUpdate&) {}); }, "set_updater: the updater is set before the first push or pull");
}

TEST(KVStoreErrors, Arrays) {
  KVStore kv = KVStore::create("local", {.shards = 2});
  kv.init("w", NDArray::zeros({2, 3}));
  const NDArray right = NDArray::zeros({2, 3}), flat = NDArray::zeros({6}), wide = NDArray::zeros({2, 3}, f64);
  expect_here([&] { kv.push("w", right); }, "push: key 'w': this worker has 2 shards, and 1 array is given");
  expect_here([&] { kv.push("w", {right, flat}); }, "push: key 'w' is f32 of shape {2, 3}, and the array f32 of shape {6}");
  expect_here([&] { kv.pull("w", wide); }, "pull: key 'w' is f32 of shape {2, 3}, and the array f64 of shape {2, 3}");
  expect_here([&] { kv.pull("w", NDArray()); }, "pull: the array is empty: nothing was assigned to it, or it was moved from");
}

TEST(KVStoreErrors, AfterTheEnd) {
  KVStore kv = KVStore::create();
  const NDArray w = NDArray::zeros({2});
  kv.init("w", w);
  kv.close();
  expect_here([&] { kv.push("w", w); }, "push: the KVStore is closed");
  expect_here([&] { kv.pull("w", w); }, "pull: the KVStore is closed");
  expect_here([&] { kv.init("v", w); }, "init: the KVStore is closed");
  expect_here([&] { kv.barrier(); }, "barrier: the KVStore is closed");
}

}  // namespace
}  // namespace mxc
