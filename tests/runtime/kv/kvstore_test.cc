// Jobs of several workers: the bits of one process, whatever the network does; unequal work; and how failures end.
#include "mxc/kvstore.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>

#include "absl/strings/str_join.h"
#include "runtime/engine/default_engine.h"
#include "runtime/ndarray/array.h"
#include "tests/runtime/kv/job.h"

namespace mxc::kv {
namespace {

using std::chrono::milliseconds;
using test::JobSetting;
using test::run_job;
using test::without_errors;

const Extents kShapes[] = {{3, 5}, {300, 300}, {7}};  // 360,000 bytes are cut
constexpr int kSteps = 5;

Here here(Here place = Here::current()) { return place; }
std::string name(size_t key) { return "key" + std::to_string(key); }

// The gradient of a shard: depends on the weights, so that every pull matters.
NDArray gradient(const NDArray& weights, int64_t shard, int step) {
  return weights * (0.25f + 0.01f * static_cast<float>(shard)) + (1.0f / static_cast<float>(3 + shard + step));
}

// The paper's loop. Returns the last values, one after the other.
std::vector<float> train(Store& store, int steps = kSteps, DType type = f32) {
  store.set_updater([](const KVUpdate& update) { update.value -= 0.1f * update.gradient; }, here());
  std::vector<NDArray> weights;
  for (size_t key = 0; key < 3; ++key) {
    int64_t elements = 1;
    for (int64_t extent : kShapes[key]) elements *= extent;
    const NDArray wide = (1.0f + static_cast<float>(key)) + 0.3f * sin(NDArray::arange(0, elements)).reshape(kShapes[key]);
    NDArray first = wide.cast(type);
    if (store.rank != 0) first.fill(-99);  // rank 0's counts
    store.init(name(key), first, here());
    weights.push_back(NDArray::zeros(kShapes[key], type));
    if (key == 2) {
      for (size_t k = 0; k < 3; ++k) store.pull(name(k), weights[k], here());
    }
  }
  for (int step = 0; step < steps; ++step) {
    for (size_t key = 0; key < 3; ++key) {
      std::vector<NDArray> gradients;
      for (int64_t shard = store.own.first; shard < store.own.end; ++shard)
        gradients.push_back(gradient(weights[key], shard, step));
      store.push(name(key), gradients, KVStore::kByOrder, here());
      store.pull(name(key), weights[key], here());
    }
  }
  std::vector<float> values;
  for (const NDArray& w : weights) {
    const std::vector<float> some = w.cast(f32).flatten().to_vector<float>();
    values.insert(values.end(), some.begin(), some.end());
  }
  return values;
}

std::vector<float> alone(int64_t shards, const std::string& compress = "", DType type = f32) {
  return train(*make_local_store(shards, test::compression_of(compress)), kSteps, type);
}

void expect_bits_of_one(const JobSetting& setting, DType type = f32) {
  std::vector<std::vector<float>> values(setting.workers);
  EXPECT_EQ(run_job(setting, [&](Store& store) { values[store.rank] = train(store, kSteps, type); }), without_errors(setting.workers));
  const std::vector<float> expected = alone(setting.shards, setting.compress, type);
  for (uint32_t rank = 0; rank < setting.workers; ++rank)
    EXPECT_TRUE(values[rank] == expected) << "rank " << rank << " of " << setting.workers;
}

TEST(KVStore, HasTheBitsOfOneProcess) {
  for (auto [workers, shards] : {std::pair<uint32_t, int64_t>{1, 4}, {2, 4}, {4, 4}, {2, 6}, {3, 3}})
    expect_bits_of_one({.workers = workers, .shards = shards});
}

// Sums are rounded at each node of the tree, on whichever side of the network it is made. Keys of 16 bits are not compressed.
TEST(KVStore, OfSmallFloatsItHasTheBitsOfOneProcess) {
  const std::vector<float> wide = alone(4);
  for (DType type : {f16, bf16}) {
    SCOPED_TRACE(to_string(type));
    for (uint32_t workers : {1, 2, 4}) expect_bits_of_one({.workers = workers, .shards = 4}, type);
    expect_bits_of_one({.workers = 2, .shards = 4, .compress = "2bit"}, type);
    const std::vector<float> small = alone(4, "2bit", type);
    for (size_t i = 0; i < wide.size(); ++i) ASSERT_NEAR(small[i], wide[i], 0.04 * std::abs(wide[i])) << i;
  }
}

// Whichever processes hold the values.
TEST(KVStore, HasTheBitsOfOneProcessWithAnyNumberOfServers) {
  for (int64_t servers : {1, 3}) expect_bits_of_one({.workers = 4, .shards = 5, .servers = servers});
  expect_bits_of_one({.workers = 3, .shards = 3, .servers = 2, .endpoints = test::in_process({.seed = 5, .drop = 30, .duplicate = 50, .delay = 100})});
}

// Of four workers the first and the third.
TEST(KVStore, ServersAloneUpdate) {
  std::array<std::atomic<int>, 4> updates = {};
  EXPECT_EQ(run_job({.workers = 4, .shards = 4, .servers = 2},
                    [&](Store& store) {
                      store.set_updater([&updates, rank = store.rank](const KVUpdate&) { ++updates[rank]; }, here());
                      for (size_t key = 0; key < 2; ++key) store.init(name(key), NDArray::zeros({3}), here());
                      for (size_t key = 0; key < 2; ++key) store.push(name(key), {NDArray::ones({3})}, 0, here());
                    }),
            without_errors(4));
  for (uint32_t rank : {0, 1, 2, 3}) EXPECT_EQ(updates[rank], rank % 2 == 0 ? 1 : 0) << rank;
}

// Halves the value before it adds, so that the order and the number of updates show.
void halve_and_add(const KVUpdate& update) {
  EXPECT_EQ(update.shards, 1);
  update.value *= 0.5f;
  update.value += update.gradient;
}

// The other worker has nothing to push: what comes of two shards' arrays is known to the bit.
TEST(KVStore, EachShardsPushIsAnUpdateOfItsOwn) {
  float pulled = 0;
  EXPECT_EQ(run_job({.workers = 2, .shards = 4, .kind = "dist_async", .local = "async"},
                    [&](Store& store) {
                      store.set_updater(halve_and_add, here());
                      store.init("key", NDArray::zeros({1}), here());
                      if (store.rank == 1) return;
                      NDArray value = NDArray::zeros({1});
                      for (float step : {0.0f, 10.0f}) store.push("key", {NDArray::full({1}, step + 1), NDArray::full({1}, step + 2)}, 0, here());
                      store.pull("key", value, here());
                      pulled = value.item<float>();
                    }),
            without_errors(2));
  EXPECT_EQ(pulled, ((1 / 2.0f + 2) / 2 + 11) / 2 + 12);
}

// Of all workers together, over a network that loses and repeats: each shard's array counts once.
TEST(KVStore, EachShardsPushCountsOnce) {
  constexpr int kPushes = 5;
  std::atomic<int> updates = 0;
  std::vector<float> sums(3);
  EXPECT_EQ(run_job({.workers = 3, .shards = 7, .kind = "dist_async", .local = "async",
                     .endpoints = test::in_process({.seed = 6, .drop = 30, .duplicate = 50, .delay = 100})},
                    [&](Store& store) {
                      store.set_updater(
                          [&](const KVUpdate& update) {
                            ++updates;
                            update.value += update.gradient;
                          },
                          here());
                      store.init("key", NDArray::zeros({1}), here());
                      std::vector<NDArray> ones(static_cast<size_t>(store.own.end - store.own.first), NDArray::ones({1}));
                      for (int push = 0; push < kPushes; ++push) store.push("key", ones, 0, here());
                      store.barrier(here());
                      NDArray sum = NDArray::zeros({1});
                      store.pull("key", sum, here());
                      sums[store.rank] = sum.item<float>();
                    }),
            without_errors(3));
  EXPECT_EQ(sums, std::vector<float>(3, 7 * kPushes));
  EXPECT_EQ(updates, 7 * kPushes);
}

TEST(KVStore, BoundedByNothingIsSync) { expect_bits_of_one({.workers = 2, .shards = 2, .kind = "dist_bounded:0"}); }

TEST(KVStore, OverTcpWithKeys) { expect_bits_of_one({.workers = 2, .shards = 4, .endpoints = test::zeromq_with_keys()}); }

TEST(KVStore, ThroughSharedMemory) {
  expect_bits_of_one({.workers = 3, .shards = 4, .endpoints = test::shared_memory()});
  expect_bits_of_one({.workers = 2, .shards = 2, .endpoints = test::shared_memory(2 << 20)});
}

// Processes of a machine add up what they contribute before it leaves: in ranges of ranks, mixed, and with parts of the tree that no machine has whole.
TEST(KVStore, MachinesHaveTheBitsOfOneProcess) {
  const std::vector<std::vector<std::string>> layouts = {{"a", "a", "b", "b"}, {"a", "b", "a", "b"}, {"a", "a", "a", "b"}, {"a", "b", "b", ""}, {"a", "a", "a", "a"}};
  for (const std::vector<std::string>& machines : layouts) {
    SCOPED_TRACE(absl::StrJoin(machines, " "));
    for (int64_t shards : {4, 7}) expect_bits_of_one({.workers = 4, .shards = shards, .machines = machines});
  }
  expect_bits_of_one({.workers = 4, .shards = 8, .kind = "dist_bounded:0", .servers = 1, .machines = layouts[0]});
  expect_bits_of_one({.workers = 4, .shards = 8, .compress = "2bit", .machines = layouts[0]});
  expect_bits_of_one({.workers = 4, .shards = 4, .endpoints = test::shared_memory(), .machines = layouts[0]});
  expect_bits_of_one({.workers = 6, .shards = 9, .servers = 2, .machines = {"a", "a", "b", "b", "c", "c"}});
}

TEST(KVStore, MachinesSurviveALossyNetwork) {
  for (uint64_t seed : {1, 2}) {
    const test::Endpoints endpoints = test::in_process({.seed = seed, .drop = 30, .duplicate = 50, .delay = 100});
    expect_bits_of_one({.workers = 4, .shards = 5, .endpoints = endpoints, .machines = {"a", "a", "b", "b"}});
  }
}

// An updater that looks at a norm: of a key that would be cut otherwise.
TEST(KVStore, UpdatersMaySeeWholeKeys) {
  const auto run = [](Store& store) {
    store.set_updater([](const KVUpdate& update) { update.value -= update.gradient / sqrt(sum(update.gradient * update.gradient)); }, here());
    store.init("key", NDArray::ones(kShapes[1]), here());
    const NDArray target = NDArray::zeros(kShapes[1]);
    for (int step = 0; step < 3; ++step) {
      store.pull("key", target, here());
      std::vector<NDArray> gradients;
      for (int64_t shard = store.own.first; shard < store.own.end; ++shard) gradients.push_back(gradient(target, shard, step));
      store.push("key", gradients, 0, here());
    }
    store.pull("key", target, here());
    return target.flatten().to_vector<float>();
  };
  const std::vector<float> expected = run(*make_local_store(2));
  std::vector<std::vector<float>> values(2);
  EXPECT_EQ(run_job({.workers = 2, .shards = 2, .whole_keys = true}, [&](Store& store) { values[store.rank] = run(store); }), without_errors(2));
  EXPECT_TRUE(values[0] == expected);
  EXPECT_TRUE(values[1] == expected);
}

// Whatever is left out of contributions, and of values on their way back, is the same on any number of processes.
TEST(KVStore, CompressedItHasTheBitsOfOneProcess) {
  const std::vector<float> whole = alone(4);
  for (const char* compress : {"fp16", "2bit", "topk:0.1"}) {
    SCOPED_TRACE(compress);
    for (uint32_t workers : {2, 4}) expect_bits_of_one({.workers = workers, .shards = 4, .compress = compress});
    EXPECT_NE(alone(4, compress), whole);
  }
  expect_bits_of_one({.workers = 2,
                      .shards = 2,
                      .compress = "2bit",
                      .endpoints = test::in_process({.seed = 4, .drop = 30, .duplicate = 50, .delay = 100})});
}

TEST(KVStore, OverANetworkThatLosesAndReorders) {
  for (uint64_t seed : {1, 2, 3})
    expect_bits_of_one(
        {.workers = 2, .shards = 2, .endpoints = test::in_process({.seed = seed, .drop = 30, .duplicate = 50, .delay = 100})});
}

// All workers push ones: after all steps the value is what any order gives.
std::vector<float> count(const JobSetting& setting, int steps) {
  std::vector<float> last(setting.workers);
  EXPECT_EQ(run_job(setting,
                    [&](Store& store) {
                      store.set_updater([](const KVUpdate& update) { update.value += update.gradient; }, here());
                      store.init("sum", NDArray::zeros({1}), here());
                      const NDArray target = NDArray::zeros({1});
                      for (int step = 0; step < steps; ++step) {
                        store.push("sum",
                                   std::vector<NDArray>(static_cast<size_t>(store.own.end - store.own.first), NDArray::ones({1})),
                                   0, here());
                        store.pull("sum", target, here());
                        // Whatever the kind, a worker's own pushes are there, but for the last s.
                        EXPECT_GE(target.item<float>(), static_cast<float>(step + 1 - 2));
                      }
                      store.barrier(here());
                      store.pull("sum", target, here());
                      last[store.rank] = target.item<float>();
                    }),
            without_errors(setting.workers));
  return last;
}

TEST(KVStore, AsyncHasEveryContributionOnce) {
  EXPECT_EQ(count({.workers = 3, .shards = 3, .kind = "dist_async"}, 20), std::vector<float>(3, 60));
}

TEST(KVStore, BoundedPullsMayLackTheLastSteps) {
  for (float last : count({.workers = 2, .shards = 2, .kind = "dist_bounded:2"}, 20)) {
    EXPECT_GE(last, 36);
    EXPECT_LE(last, 40);
  }
  for (float last : count({.workers = 4, .shards = 4, .kind = "dist_bounded:2", .machines = {"a", "a", "b", "b"}}, 20)) {
    EXPECT_GE(last, 72);
    EXPECT_LE(last, 80);
  }
}

// A worker that is out of data is not waited for, and the updater is told of how many shards a sum is.
void train_on_unequal_data(const std::vector<std::string>& machines) {
  std::mutex mutex;
  std::vector<int64_t> shards;
  std::vector<float> last(3);
  EXPECT_EQ(run_job({.workers = 3, .shards = 3, .machines = machines},
                    [&](Store& store) {
                      store.set_updater(
                          [&](const KVUpdate& update) {
                            std::lock_guard lock(mutex);
                            shards.push_back(update.shards);
                            update.value += update.gradient / static_cast<float>(update.shards);
                          },
                          here());
                      store.init("mean", NDArray::zeros({1}), here());
                      const NDArray target = NDArray::zeros({1});
                      for (uint32_t step = 0; step < 2 * (store.rank + 1); ++step) {
                        store.push("mean", {NDArray::ones({1})}, 0, here());
                        store.pull("mean", target, here());
                      }
                      last[store.rank] = target.item<float>();
                    }),
            without_errors(3));
  EXPECT_EQ(last, (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(shards, (std::vector<int64_t>{3, 3, 2, 2, 1, 1}));
}

TEST(KVStore, UnequalData) {
  train_on_unequal_data({});
  train_on_unequal_data({"a", "b", "b"});
}

TEST(KVStore, BarriersWaitForAll) {
  std::atomic<int> arrived = 0;
  EXPECT_EQ(run_job({.workers = 3, .shards = 3},
                    [&](Store& store) {
                      for (int round = 1; round <= 3; ++round) {
                        std::this_thread::sleep_for(milliseconds(10 * store.rank));
                        ++arrived;
                        store.barrier(here());
                        EXPECT_GE(arrived.load(), 3 * round);
                      }
                    }),
            without_errors(3));
}

// A push returns at once although its array comes late, and so does a pull.
TEST(KVStore, PushingWaitsForNothing) {
  EXPECT_EQ(run_job({.workers = 1, .shards = 1},
                    [&](Store& store) {
                      store.init("w", NDArray::zeros({2}), here());
                      const NDArray source = NDArray::zeros({2}), target = NDArray::zeros({2});
                      std::promise<void> gate;
                      std::shared_future<void> opened = gate.get_future().share();
                      ndarray::ChunkRef chunk = ndarray::view_of(source).chunk;
                      ndarray::begin_write(*chunk);
                      engine::default_engine().push({.name = "late", .lane = engine::Lane::io}, {}, {chunk->variable},
                                                    [chunk, opened] {
                                                      opened.wait();
                                                      static_cast<float*>(chunk->memory)[1] = 5;
                                                      return absl::OkStatus();
                                                    });
                      store.push("w", {source}, 0, here());
                      store.pull("w", target, here());
                      gate.set_value();  // would not be reached
                      EXPECT_EQ(target.to_vector<float>(), (std::vector<float>{0, 5}));
                    }),
            without_errors(1));
}

// The program queues more than the engine takes at a time, all of which waits for updates, which are queued on the same engine.
TEST(KVStore, UpdatersNeedNoRoomInTheQueue) {
  EXPECT_EQ(run_job({.workers = 1, .shards = 1},
                    [](Store& store) {
                      store.set_updater([](const KVUpdate& update) { update.value += update.gradient; }, here());
                      store.init("w", NDArray::zeros({2}), here());
                      const NDArray target = NDArray::zeros({2}), total = NDArray::zeros({2});
                      for (int step = 0; step < 100; ++step) {
                        store.push("w", {NDArray::ones({2})}, 0, here());
                        store.pull("w", target, here());
                        for (int i = 0; i < 50; ++i) total += target;
                      }
                      EXPECT_EQ(total.to_vector<float>(), std::vector<float>(2, 50 * 5050));
                    }),
            without_errors(1));
}

void expect_everywhere(const std::vector<std::string>& ends, const std::string& text) {
  for (const std::string& end : ends) EXPECT_NE(end.find(text), std::string::npos) << end;
}

// The failure comes before the push, or after it.
void expect_either(const std::string& end, const std::string& text) {
  EXPECT_TRUE(end == "push: " + text || end == "pull: " + text) << end;
}

TEST(KVStoreFailures, APlanOfOneWorkerThatDiffers) {
  const std::vector<std::string> ends = run_job({.workers = 2, .shards = 2}, [](Store& store) {
    const NDArray w = NDArray::zeros({store.rank == 0 ? 2 : 3});
    store.init("w", w, here());
    store.pull("w", w, here());
    w.wait();
  });
  expect_everywhere(ends, "the plans of rank 0 (host test, process 0) and rank 1 (host test, process 1) differ (");
  EXPECT_EQ(ends[0].find("pull: key 'w': the plans of"), 0u);
}

// What was pushed is what counts, though the program writes to the array at once. Large ones are not copied: then the write waits.
TEST(KVStore, PushedArraysMayBeWrittenToAtOnce) {
  constexpr int64_t kElements = 300'000;
  for (const test::Endpoints& endpoints : {test::in_process(), test::zeromq({.largest_frame = 1 << 21}), test::tcp(), test::tcp(/*within=*/true), test::shared_memory()}) {
    for (const std::string kind : {"dist_sync", "dist_async"}) {
      EXPECT_EQ(run_job({.workers = 3, .shards = 3, .kind = kind, .endpoints = endpoints},
                        [](Store& store) {
                          const NDArray pushed = NDArray::full({kElements}, static_cast<float>(store.rank + 1)), target = NDArray::zeros({kElements});
                          store.set_updater([](const KVUpdate& update) { update.value += update.gradient; }, here());
                          store.init("w", target, here());
                          for (int step = 0; step < 5; ++step) {
                            store.push("w", {pushed}, 0, here());
                            pushed += 10.0f;
                            store.pull("w", target, here());
                          }
                          store.barrier(here());
                          store.pull("w", target, here());
                          // Five steps of 1 + 2 + 3, and of 0, 10, 20, 30, 40 each.
                          EXPECT_EQ(reduce_min(target).item<float>(), 5 * 6 + 3 * 100);
                          EXPECT_EQ(reduce_max(target).item<float>(), 5 * 6 + 3 * 100);
                        }),
                without_errors(3));
    }
  }
}

// An array that was pushed in vain can be written to: it is not waited for any more.
TEST(KVStoreFailures, PushedArraysComeBack) {
  for (const test::Endpoints& endpoints : {test::in_process(), test::zeromq({.largest_frame = 1 << 21}), test::tcp()}) {
    const std::vector<std::string> ends = run_job({.workers = 2, .shards = 2, .endpoints = endpoints}, [](Store& store) {
      const NDArray w = NDArray::ones({300'000}), target = NDArray::zeros({300'000});
      store.init("w", target, here());
      store.barrier(here());
      if (store.rank == 1) throw Error("out of luck", here());
      for (int step = 0; step < 3; ++step) store.push("w", {w}, 0, here());
      w += 1.0f;
      EXPECT_EQ(reduce_max(w).item<float>(), 2);
      store.pull("w", target, here());
      target.wait();
    });
    EXPECT_EQ(ends[1], "out of luck");
    EXPECT_NE(ends[0].find("rank 1 (host test, process 1): its program has ended with an error"), std::string::npos) << ends[0];
  }
}

TEST(KVStoreFailures, AProgramThatEndsWithAnError) {
  const std::vector<std::string> ends = run_job({.workers = 2, .shards = 2}, [](Store& store) {
    store.init("w", NDArray::zeros({2}), here());
    const NDArray target = NDArray::zeros({2});
    store.pull("w", target, here());
    target.wait();
    if (store.rank == 1) throw Error("out of luck", here());
    store.push("w", {target}, 0, here());
    store.pull("w", target, here());
    target.wait();
  });
  EXPECT_EQ(ends[1], "out of luck");
  expect_either(ends[0], "key 'w': rank 1 (host test, process 1): its program has ended with an error");
}

TEST(KVStoreFailures, AnUpdaterThatFails) {
  const std::vector<std::string> ends = run_job({.workers = 2, .shards = 2}, [](Store& store) {
    store.set_updater([](const KVUpdate& update) { update.value.assign(NDArray::zeros({77})); }, here());
    const NDArray w = NDArray::zeros({2});
    store.init("w", w, here());
    store.push("w", {w}, 0, here());
    store.pull("w", w, here());
    w.wait();
  });
  expect_everywhere(ends, "the updater of key 'w': ");
}

// Its push never leaves: the worker's own pull says why, and nobody waits for ever.
TEST(KVStoreFailures, AGradientThatCouldNotBeComputed) {
  const std::vector<std::string> ends = run_job({.workers = 2, .shards = 2}, [](Store& store) {
    store.init("w", NDArray::zeros({2}), here());
    const NDArray target = NDArray::zeros({2});
    const NDArray wrong = store.rank == 0 ? take(target, NDArray::from({5, 6})) : target.copy();
    store.push("w", {wrong}, 0, here());
    store.pull("w", target, here());
    target.wait();
  });
  EXPECT_NE(ends[0].find("take: "), std::string::npos) << ends[0];
  expect_either(ends[1], "key 'w': rank 0 (host test, process 0): its program has ended with an error");
}

TEST(KVStoreFailures, ASchedulerThatIsNotThere) {
  ProcessOptions options;
  options.scheduler = options.member.scheduler = "tcp://127.0.0.1:1";
  options.size = 2;
  options.member.gathering = milliseconds(200);
  options.member.beat = milliseconds(50);
  options.listen = "tcp://127.0.0.1:*";
  options.endpoint = [network = InProcessNetwork::create()](int64_t) -> absl::StatusOr<std::unique_ptr<Transport>> {
    return network->endpoint();
  };
  auto store = make_remote_store(options, {.shards = 2, .servers = 2});
  ASSERT_TRUE(store.ok());
  const NDArray w = NDArray::zeros({2});
  (*store)->init("w", w, here());
  (*store)->pull("w", w, here());
  try {
    w.wait();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.message, "pull: key 'w': no scheduler has answered at tcp://127.0.0.1:1 for 0 s");
  }
}

}  // namespace
}  // namespace mxc::kv
