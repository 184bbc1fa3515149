// The executor on hand-written plans: values against plain loops.
#include "runtime/core/executor.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/runtime/plan_builder.h"

namespace mxc::core {
namespace {

using namespace mxc::test;
using plan::GraphKind;
using plan::OutputKind;
using plan::Role;
using plan::Space;

// out[i] = a[i] + b[i], a cell is one sample of 3 numbers
void add3(void* const* args, int64_t, int64_t begin, int64_t end) {
  const float *a = static_cast<float*>(args[0]), *b = static_cast<float*>(args[1]);
  float* c = static_cast<float*>(args[2]);
  for (int64_t i = begin * 3; i < end * 3; ++i) c[i] = a[i] + b[i];
}
// x = 2x + 1, one number
void twice_plus_one(void* const* args, int64_t, int64_t, int64_t) {
  float *x = static_cast<float*>(args[0]), *y = static_cast<float*>(args[1]);
  *y = 2 * *x + 1;
}
// total += item
void accumulate(void* const* args, int64_t, int64_t, int64_t) {
  *static_cast<float*>(args[1]) += *static_cast<float*>(args[0]);
}
void set_seven(void* const* args, int64_t, int64_t, int64_t) { *static_cast<float*>(args[0]) = 7; }
// y[i] = n, per sample
void write_n(void* const* args, int64_t n, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) static_cast<float*>(args[0])[i] = static_cast<float>(n);
}

struct Ready {
  explicit Ready(const PlanBuilder& builder, int threads = 1) : built(builder.build()), program(built.program()) {
    Status status = PlanView::open(program, &view);
    EXPECT_TRUE(status.ok()) << status.text;
    status = Storage::create(view, &storage);
    EXPECT_TRUE(status.ok()) << status.text;
    EXPECT_TRUE(ThreadPool::create(threads, &pool).ok());
  }
  Executor executor(uint32_t graph = 0) {
    Executor made;
    Status status = Executor::create(program, view, graph, storage, &pool, &made);
    EXPECT_TRUE(status.ok()) << status.text;
    return made;
  }
  float* floats(uint32_t buffer) { return static_cast<float*>(storage.address(view.buffer(buffer))); }

  BuiltPlan built;
  plan::Program program;
  PlanView view;
  Storage storage;
  ThreadPool pool;
};

class ExecutorThreads : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, ExecutorThreads, testing::Values(1, 2, 4));

TEST_P(ExecutorThreads, RunsAnyBatchUpToTheCompiledOne) {
  PlanBuilder b;
  constexpr int64_t kBatch = 50;
  BufferSpec tensor = {.dims = {kBatch, 3}, .space = Space::io, .batch_axis = 0};
  uint32_t x = b.buffer(tensor), y = b.buffer(tensor), sum = b.buffer({.dims = {kBatch, 3}, .batch_axis = 0}), z = b.buffer(tensor);
  b.begin_graph("g", GraphKind::infer, kBatch);
  uint32_t first = b.step({.name = "sum", .kernel = add3, .args = {in(x), in(y), out(sum)}, .batch_unit = 1});
  b.step({.name = "again", .kernel = add3, .args = {in(sum), in(y), out(z)}, .deps = {first}, .batch_unit = 1});
  b.input(x);
  b.input(y);
  b.output(z);
  b.end_graph();
  Ready r(b, GetParam());
  Executor e = r.executor();
  for (int64_t n : {int64_t{1}, int64_t{7}, kBatch}) {
    for (int64_t i = 0; i < kBatch * 3; ++i) {
      r.floats(x)[i] = static_cast<float>(i);
      r.floats(y)[i] = static_cast<float>(1000 * n + i % 5);
      r.floats(z)[i] = -1;
    }
    ASSERT_TRUE(e.run(n).ok());
    for (int64_t i = 0; i < kBatch * 3; ++i) {
      float expected = i < n * 3 ? static_cast<float>(i + 2 * (1000 * n + i % 5)) : -1;
      ASSERT_EQ(r.floats(z)[i], expected) << i;
    }
  }
  EXPECT_EQ(e.run(0).code, Code::invalid_argument);
  Status status = e.run(51);
  EXPECT_STREQ(status.text, "graph 'g': a run with 51 samples of at most 50");
}

TEST(Executor, GridFollowsTheBatchInTiles) {
  plan::Step step = {};
  step.grid_cells = 5;
  EXPECT_EQ(grid(step, 9), 5);
  step.grid_batch_unit = 3;
  step.grid_batch_tile = 4;
  EXPECT_EQ(grid(step, 1), 5);   // 3 rows: one tile of 4
  EXPECT_EQ(grid(step, 3), 15);  // 9 rows: three tiles
}

TEST(Executor, PassesTheRunTimeBatchToKernels) {
  PlanBuilder b;
  uint32_t y = b.buffer({.dims = {8}, .space = Space::io, .batch_axis = 0});
  b.begin_graph("g", GraphKind::infer, 8);
  b.step({.kernel = write_n, .args = {out(y)}, .batch_unit = 1});
  b.end_graph();
  Ready r(b);
  Executor e = r.executor();
  ASSERT_TRUE(e.run(3).ok());
  EXPECT_EQ(r.floats(y)[2], 3);
  EXPECT_EQ(r.floats(y)[3], 0);
}

TEST(Executor, LoopMovesArgumentsAndCarries) {
  // state' = 2 state + 1, stacked per iteration: 1 3 7 15 31 from 0.
  PlanBuilder b;
  uint32_t state = b.buffer({.dims = {}}), next = b.buffer({.dims = {}});
  uint32_t stack = b.buffer({.dims = {5}, .space = Space::io});
  uint32_t slot = b.buffer({.dims = {}, .space = Space::io, .offset = 0});
  b.begin_graph("g", GraphKind::infer, 0);
  b.begin_loop(5);
  b.step({.kernel = twice_plus_one, .args = {in(state), out(next)}});
  b.step({.args = {in(next), out(slot, 4)}});
  b.carry(next, state);
  b.end_block();
  b.end_graph();
  Ready r(b);
  Executor e = r.executor();
  for (int repeat = 0; repeat < 2; ++repeat) {
    *r.floats(state) = 0;
    ASSERT_TRUE(e.run(0).ok());
    EXPECT_EQ(std::vector<float>(r.floats(stack), r.floats(stack) + 5), (std::vector<float>{1, 3, 7, 15, 31}));
    EXPECT_EQ(*r.floats(state), 31);
  }
}

TEST(Executor, TripCountFromABufferAndNestedLoops) {
  // For each of `trips` rows: total += each of the row's 3 numbers... the inner loop's stride applies, the outer's does not.
  PlanBuilder b;
  uint32_t trips = b.buffer({.dims = {}, .dtype = plan::DType::i64, .space = Space::io});
  uint32_t row = b.buffer({.dims = {3}, .space = Space::io}), item = b.buffer({.dims = {}, .space = Space::io, .offset = 64});
  uint32_t total = b.buffer({.dims = {}, .space = Space::io});
  b.begin_graph("g", GraphKind::infer, 0);
  b.begin_loop(0, trips);
  b.begin_loop(3);
  b.begin_sequence();
  b.step({.kernel = accumulate, .args = {in(item, 4), inout(total)}});
  b.end_block();
  b.end_block();
  b.end_block();
  b.end_graph();
  Ready r(b);
  Executor e = r.executor();
  int64_t* count = static_cast<int64_t*>(r.storage.address(r.view.buffer(trips)));
  for (int i = 0; i < 3; ++i) r.floats(row)[i] = static_cast<float>(1 << i);
  for (int64_t n : {0, 1, 4}) {
    *count = n;
    *r.floats(total) = 0;
    ASSERT_TRUE(e.run(0).ok());
    EXPECT_EQ(*r.floats(total), static_cast<float>(7 * n));
  }
  *count = -2;
  EXPECT_STREQ(e.run(0).text, "a loop is to run -2 times");
}

TEST_P(ExecutorThreads, CopiesLargeBuffers) {
  PlanBuilder b;
  constexpr int64_t kCount = 300'000;
  uint32_t x = b.buffer({.dims = {kCount}, .space = Space::io}), y = b.buffer({.dims = {kCount}, .space = Space::io});
  b.begin_graph("g", GraphKind::infer, 0);
  b.step({.args = {in(x), out(y)}});
  b.end_graph();
  Ready r(b, GetParam());
  Executor e = r.executor();
  for (int64_t i = 0; i < kCount; ++i) r.floats(x)[i] = static_cast<float>(i);
  ASSERT_TRUE(e.run(0).ok());
  for (int64_t i = 0; i < kCount; ++i) ASSERT_EQ(r.floats(y)[i], static_cast<float>(i));
}

TEST(Executor, BindsCallerMemory) {
  PlanBuilder b;
  BufferSpec tensor = {.dims = {4, 3}, .space = Space::io, .batch_axis = 0};
  uint32_t x = b.buffer(tensor), z = b.buffer(tensor);
  uint32_t inner = b.buffer({.dims = {4, 3}, .batch_axis = 0});
  b.begin_graph("g", GraphKind::infer, 4);
  b.step({.kernel = add3, .args = {in(x), in(x), out(z)}, .batch_unit = 1});
  b.end_graph();
  Ready r(b);
  Executor e = r.executor();
  alignas(64) float mine[3] = {1, 2, 3};  // room for the one sample that is run
  alignas(64) float result[3] = {};
  ASSERT_EQ(used_bytes(r.view.buffer(x), 1), sizeof mine);
  ASSERT_TRUE(e.bind(x, mine).ok());
  ASSERT_TRUE(e.bind(z, result).ok());
  ASSERT_TRUE(e.run(1).ok());
  EXPECT_EQ(result[2], 6);
  EXPECT_EQ(r.floats(z)[2], 0);
  ASSERT_TRUE(e.bind(z, nullptr).ok());
  ASSERT_TRUE(e.run(1).ok());
  EXPECT_EQ(r.floats(z)[2], 6);
  EXPECT_EQ(e.bind(x, reinterpret_cast<char*>(mine) + 4).code, Code::invalid_argument);
  EXPECT_EQ(e.bind(inner, mine).code, Code::invalid_argument);
}

struct Log {
  std::vector<std::string> lines;
  uint32_t stop_at = plan::kNone;
  Observer observer() {
    return {this,
            [](void* c, uint32_t i) {
              static_cast<Log*>(c)->lines.push_back("item" + std::to_string(i));
              return i != static_cast<Log*>(c)->stop_at;
            },
            [](void* c, uint32_t i) { static_cast<Log*>(c)->lines.push_back("/item" + std::to_string(i)); },
            [](void* c, uint32_t i) { static_cast<Log*>(c)->lines.push_back("step" + std::to_string(i)); },
            [](void* c, uint32_t i) { static_cast<Log*>(c)->lines.push_back("/step" + std::to_string(i)); }};
  }
};

TEST(Executor, TellsTheObserverAndStopsForIt) {
  PlanBuilder b;
  uint32_t x = b.buffer({.dims = {}}), total = b.buffer({.dims = {}});
  b.begin_graph("g", GraphKind::infer, 0);
  b.step({.kernel = set_seven, .args = {out(x)}});
  b.begin_loop(2);
  b.step({.kernel = accumulate, .args = {in(x), inout(total)}});
  b.end_block();
  b.end_graph();
  Ready r(b);
  Executor e = r.executor();
  Log log;
  Observer observer = log.observer();
  ASSERT_TRUE(e.run(0, &observer).ok());
  EXPECT_EQ(log.lines, (std::vector<std::string>{"item0", "step0", "/step0", "/item0", "item1", "step1", "/step1", "step1",
                                                 "/step1", "/item1"}));
  log.lines.clear();
  ASSERT_TRUE(e.run_items(0, 0, 1, &observer).ok());
  ASSERT_TRUE(e.run_items(0, 1, 1, &observer).ok());
  EXPECT_EQ(log.lines, (std::vector<std::string>{"item0", "step0", "/step0", "/item0"}));
  EXPECT_EQ(e.run_items(0, 1, 3).code, Code::invalid_argument);
  log.stop_at = 1;
  EXPECT_EQ(e.run(0, &observer).code, Code::stopped);
  EXPECT_EQ(*r.floats(total), 14);
}

TEST(Executor, SaysWhichItemsUseABuffer) {
  PlanBuilder b;
  uint32_t a = b.buffer({.dims = {}, .space = Space::io}), out_first = b.buffer({.dims = {}, .space = Space::io});
  uint32_t stack = b.buffer({.dims = {32}, .space = Space::io});
  uint32_t second_half = b.buffer({.dims = {16}, .space = Space::io, .offset = 192});
  uint32_t slot = b.buffer({.dims = {}, .space = Space::io, .offset = 128});
  uint32_t weight = b.buffer({.dims = {}, .space = Space::persistent});
  uint32_t donated = b.buffer({.dims = {}, .space = Space::persistent, .offset = 0});
  b.begin_graph("g", GraphKind::train, 0);
  b.step({.kernel = twice_plus_one, .args = {in(weight), out(out_first)}});
  b.begin_loop(17);
  b.step({.kernel = twice_plus_one, .args = {in(a), out(slot, 4)}});
  b.end_block();
  b.step({.kernel = twice_plus_one, .args = {in(a), out(donated)}});
  b.end_graph();
  Ready r(b);
  Executor e = r.executor();
  EXPECT_EQ(e.top_level_items(), 3u);
  EXPECT_EQ(e.use(a).first_read, 1);
  EXPECT_EQ(e.use(a).last_read, 2);
  EXPECT_EQ(e.use(a).first_write, -1);
  EXPECT_EQ(e.use(out_first).last_write, 0);
  EXPECT_EQ(e.use(stack).last_write, 1);
  EXPECT_EQ(e.use(second_half).last_write, 1);  // reached only by the 17th iteration
  EXPECT_EQ(e.use(weight).first_read, 0);       // and its successor lies in the same bytes
  EXPECT_EQ(e.use(weight).last_write, 2);
}

TEST(Executor, PartsOfAGraph) {
  PlanBuilder b;
  uint32_t x = b.buffer({.dims = {}, .space = Space::io}), y = b.buffer({.dims = {}, .space = Space::io});
  uint32_t z = b.buffer({.dims = {}, .space = Space::io});
  b.begin_graph("g", GraphKind::user, 0);
  b.step({.kernel = twice_plus_one, .args = {in(x), out(y)}});
  b.step({.kernel = twice_plus_one, .args = {in(y), out(z)}});
  b.step({.kernel = accumulate, .args = {in(x), inout(z)}});
  b.end_graph();
  Ready r(b);
  Executor first, rest, none;
  Selection selection{.end = 1};
  ASSERT_TRUE(Executor::create(r.program, r.view, 0, r.storage, &r.pool, &first, &selection).ok());
  const uint8_t keep[] = {1, 0, 1};
  selection = {.first = 1, .keep = keep};
  ASSERT_TRUE(Executor::create(r.program, r.view, 0, r.storage, &r.pool, &rest, &selection).ok());
  selection = {.first = 3};
  ASSERT_TRUE(Executor::create(r.program, r.view, 0, r.storage, &r.pool, &none, &selection).ok());
  EXPECT_EQ(first.top_level_items(), 1u);
  EXPECT_EQ(rest.top_level_items(), 1u);
  EXPECT_EQ(rest.use(z).last_write, 0);  // counted in the part
  EXPECT_EQ(rest.use(y).first_read, -1);
  *r.floats(x) = 3;
  *r.floats(z) = 100;
  ASSERT_TRUE(first.run(1).ok());
  EXPECT_EQ(*r.floats(y), 7);
  EXPECT_EQ(*r.floats(z), 100);
  ASSERT_TRUE(rest.run(1).ok());
  EXPECT_EQ(*r.floats(z), 103);
  ASSERT_TRUE(none.run(1).ok());
}

TEST(Executor, APersistentBufferIsBoundWithWhatLiesInIt) {
  PlanBuilder b;
  uint32_t w = b.buffer({.dims = {32}, .space = Space::persistent}), x = b.buffer({.dims = {}, .space = Space::io});
  uint32_t half = b.buffer({.dims = {16}, .space = Space::persistent, .offset = 64});
  uint32_t reaching = b.buffer({.dims = {32}, .space = Space::persistent, .offset = 64});
  b.begin_graph("g", GraphKind::train, 0);
  b.step({.kernel = twice_plus_one, .args = {in(x), out(half)}});
  b.step({.kernel = twice_plus_one, .args = {in(x), out(w)}});
  b.end_graph();
  Ready r(b);
  Executor e = r.executor();
  EXPECT_EQ(e.bind(w, nullptr).code, Code::invalid_argument);  // `reaching` lies in it in part
  EXPECT_STREQ(e.bind(w, nullptr).text, "buffer 3 lies in part in buffer 0");
  EXPECT_EQ(e.bind(99, nullptr).code, Code::invalid_argument);
  r.built.records<plan::Buffer>(r.built.header().buffers)[reaching].offset = 128;
  alignas(plan::kAlign) float mine[32] = {};
  ASSERT_TRUE(e.bind(w, mine).ok());
  *r.floats(x) = 2;
  ASSERT_TRUE(e.run(1).ok());
  EXPECT_EQ(mine[0], 5);
  EXPECT_EQ(mine[16], 5);
  EXPECT_EQ(*r.floats(w), 0);
  EXPECT_EQ(e.address(half), mine + 16);
  ASSERT_TRUE(e.bind(w, nullptr).ok());
  ASSERT_TRUE(e.run(1).ok());
  EXPECT_EQ(*r.floats(w), 5);
}

TEST(Executor, FollowsALentArena) {
  PlanBuilder b;
  uint32_t x = b.buffer({.dims = {}, .space = Space::io}), inner = b.buffer({.dims = {}}), y = b.buffer({.dims = {}, .space = Space::io});
  b.begin_graph("g", GraphKind::infer, 0);
  b.step({.kernel = twice_plus_one, .args = {in(x), out(inner)}});
  b.step({.kernel = twice_plus_one, .args = {in(inner), out(y)}});
  b.end_graph();
  Ready r(b);
  ASSERT_TRUE(Storage::create(r.view, &r.storage, Arenas::lent).ok());
  Region regions[2];
  for (Region& region : regions) ASSERT_TRUE(map_region(r.view.devices()[0].arena_bytes, &region));
  r.storage.lend_arena(0, regions[0].base);
  Executor e = r.executor();
  *r.floats(x) = 1;
  ASSERT_TRUE(e.run(1).ok());
  EXPECT_EQ(*static_cast<float*>(regions[0].base), 3);
  EXPECT_EQ(*static_cast<float*>(regions[1].base), 0);
  r.storage.lend_arena(0, regions[1].base);
  e.follow_storage();
  *r.floats(x) = 2;
  ASSERT_TRUE(e.run(1).ok());
  EXPECT_EQ(*static_cast<float*>(regions[0].base), 3);
  EXPECT_EQ(*static_cast<float*>(regions[1].base), 5);
  EXPECT_EQ(*r.floats(y), 11);
  for (const Region& region : regions) unmap_region(region);
}

TEST(Executor, RefusesAStorageForOtherGraphs) {
  PlanBuilder b;
  const uint32_t x = b.buffer({.dims = {}, .space = Space::io});
  b.begin_graph("train", GraphKind::train, 0);
  b.input(x);
  b.end_graph();
  const uint32_t y = b.buffer({.dims = {}, .space = Space::io});
  b.begin_graph("gradients", GraphKind::user, 0);
  b.step({.name = "double", .kernel = twice_plus_one, .args = {in(x), out(y)}});
  b.output(y);
  b.end_graph();
  Ready r(b);
  ASSERT_TRUE(Storage::create(r.view, &r.storage, Arenas::own, Graphs::alone).ok());
  Executor e;
  const Status status = Executor::create(r.program, r.view, 1, r.storage, nullptr, &e);
  EXPECT_EQ(status.code, Code::invalid_argument);
  EXPECT_STREQ(status.text, "step 'double': the storage was made for other graphs than its own");
  ASSERT_TRUE(Storage::create(r.view, &r.storage).ok());
  EXPECT_TRUE(Executor::create(r.program, r.view, 1, r.storage, nullptr, &e).ok());
}

TEST(Executor, RefusesStepsItCannotRun) {
  PlanBuilder b;
  uint32_t x = b.buffer({.dims = {}});
  b.begin_graph("g", GraphKind::infer, 0);
  b.step({.name = "conv", .kernel = set_seven, .args = {out(x)}, .kind = plan::StepKind::gpu_kernel});
  b.end_graph();
  Ready r(b);
  Executor e;
  Status status = Executor::create(r.program, r.view, 0, r.storage, nullptr, &e);
  EXPECT_EQ(status.code, Code::unsupported);
  EXPECT_STREQ(status.text, "step 'conv': only CPU kernels and copies run here");
  EXPECT_EQ(Executor::create(r.program, r.view, 1, r.storage, nullptr, &e).code, Code::invalid_argument);
}

}  // namespace
}  // namespace mxc::core
