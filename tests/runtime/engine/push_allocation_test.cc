// Pushing asks nobody for memory once it has gone on for a while: every call of the allocator is counted.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <thread>

#include "runtime/engine/graph_run.h"
#include "tests/runtime/counted_allocations.h"
#include "tests/runtime/engine/engines.h"
#include "tests/runtime/plan_builder.h"

namespace mxc::engine {
namespace {

using test::allocations;
using test::in;
using test::out;


class PushAllocation : public testing::TestWithParam<bool> {};  // cheap operations
INSTANTIATE_TEST_SUITE_P(IsCheap, PushAllocation, testing::Bool());

// Pushes operations of all common shapes, with captures of up to 96 bytes.
void push_some(Engine& engine, std::array<Variable, 8>& v, bool cheap, int count) {
  std::array<int64_t, 12> capture = {};
  for (int i = 0; i < count; ++i) {
    const Variable &a = v[static_cast<size_t>(i) % 8], &b = v[static_cast<size_t>(i * 3 + 1) % 8];
    engine.push({.name = "none", .cheap = cheap}, {}, {}, ok);
    engine.push({.name = "one", .cheap = cheap}, {a}, {b}, [capture] { return capture[0] == 0 ? ok() : absl::InternalError("?"); });
    engine.push({.name = "all", .lane = Lane::io, .cheap = cheap}, {v[0], v[1], v[2], v[3], v[4]}, {v[5], v[6], v[7]}, ok);
    engine.push_async({.name = "network", .lane = Lane::network}, {a}, {b}, [](Completion done) { done(ok()); });
    engine.recover(a);
    if (i % 16 == 0) EXPECT_TRUE(engine.wait(a).ok());
  }
  EXPECT_TRUE(engine.wait_all().ok());
}

// Makes the engine's records for so many operations at a time: pushed from a body, all wait for that body's end, and none for room. How many would be
// in use at a time otherwise depends on the threads.
void make_records(Engine& engine, int count) {
  Variable x = engine.variable("x");
  engine.push({}, {}, {x}, [&engine, &x, count] {
    for (int i = 0; i < count; ++i) engine.push({}, {x}, {}, ok);
    return ok();
  });
  EXPECT_TRUE(engine.wait_all().ok());
}

TEST_P(PushAllocation, NoneInTheLongRun) {
  std::unique_ptr<Engine> engine = *Engine::create({.run_ahead = 64});
  std::array<Variable, 8> variables;
  for (Variable& variable : variables) variable = engine->variable("v");
  const long before_start = allocations;
  make_records(*engine, 70);  // more than run ahead
  ASSERT_GT(allocations, before_start);  // the count sees what the engine asks for
  push_some(*engine, variables, GetParam(), 5000);
  // How many are ready out of turn depends on the threads, too: a lane's list of them may double late, up to 64 places.
  const long before = allocations;
  push_some(*engine, variables, GetParam(), 5000);
  EXPECT_LE(allocations - before, 3 * 7);  // of 25000 operations
}

// Exactly none, where the number of records does not depend on timing: each operation is waited for.
TEST_P(PushAllocation, NoneForAnOperation) {
  std::unique_ptr<Engine> engine = *Engine::create({});
  Variable x = engine->variable("x"), y = engine->variable("y");
  auto round = [&] {
    bool good = true;
    for (int i = 0; i < 100; ++i) {
      engine->push({.name = "op", .cheap = GetParam()}, {x}, {y}, ok);
      good &= engine->wait(y).ok();
    }
    return good && engine->wait_all().ok();
  };
  make_records(*engine, 4);  // the operation, and who waits for it
  ASSERT_TRUE(round());
  const long before = allocations;
  const bool good = round();
  EXPECT_EQ(allocations - before, 0);
  EXPECT_TRUE(good);
}

TEST(PushAllocationTest, ALargeCaptureIsCounted) {
  std::unique_ptr<Engine> engine = *Engine::create({});
  const long before = allocations;
  engine->push({}, {}, {}, [large = std::array<char, kInlineCapture + 1>{}] { return large[0] == 0 ? ok() : absl::InternalError("?"); });
  ASSERT_TRUE(engine->wait_all().ok());
  EXPECT_GT(allocations, before);
}

void nothing(void* const*, int64_t, int64_t, int64_t) {}

// The trainer's way of running: a graph with what it needs prepared, then a wait.
TEST(PushAllocationTest, NoneForARunOfAGraph) {
  test::PlanBuilder builder;
  const uint32_t x = builder.buffer({.name = "x", .dims = {4}, .space = plan::Space::io});
  const uint32_t y = builder.buffer({.name = "y", .dims = {4}, .space = plan::Space::io});
  const uint32_t z = builder.buffer({.name = "z", .dims = {4}, .space = plan::Space::io});
  builder.begin_graph("train", plan::GraphKind::train, 0);
  for (int i = 0; i < 17; ++i) builder.step({.name = "a", .kernel = nothing, .args = {in(x), out(y)}});
  builder.step({.name = "b", .kernel = nothing, .args = {in(y), out(z)}});
  builder.end_graph();
  const test::BuiltPlan built = builder.build();
  const plan::Program program = built.program();
  core::PlanView view;
  ASSERT_TRUE(core::PlanView::open(program, &view).ok());
  core::Storage storage;
  ASSERT_TRUE(core::Storage::create(view, &storage).ok());
  core::Executor executor;
  ASSERT_TRUE(core::Executor::create(program, view, 0, storage, nullptr, &executor).ok());
  std::unique_ptr<Engine> engine = *Engine::create({});
  Variable memory = engine->variable("memory");
  std::vector<BoundVariable> bound;
  for (uint32_t buffer : {x, y, z}) bound.push_back({buffer, engine->variable("v")});
  absl::StatusOr<CompiledGraph> graph = CompiledGraph::create(&executor, view, memory, bound);
  ASSERT_TRUE(graph.ok());
  int64_t prepared = 0, other = 0, more = 0;
  auto push = [&] { push_graph(*engine, *graph, 1, 0, [&prepared, &other, &more] { return ++other, ++more, ++prepared, ok(); }); };
  auto run = [&] {
    push();
    return engine->wait(memory).ok();
  };
  // As many records as can be in use at a time: a run may still be ending when its wait is over, and the next is pushed.
  std::atomic<bool> open{false};
  engine->push({.name = "gate"}, {}, {memory}, [&] {
    while (!open) std::this_thread::yield();
    return ok();
  });
  for (int i = 0; i < 8; ++i) push();
  open = true;
  ASSERT_TRUE(engine->wait_all().ok());
  const long before = allocations;
  bool good = true;
  for (int i = 0; i < 100; ++i) good &= run();
  EXPECT_EQ(allocations - before, 0);
  EXPECT_TRUE(good);
  EXPECT_EQ(prepared, 108);
}

// A million pushes, far faster than they run: what the engine takes depends on the run-ahead alone.
TEST(PushAllocationTest, MemoryIsBoundedByTheRunAhead) {
  constexpr size_t kRunAhead = 512;
  std::unique_ptr<Engine> engine = *Engine::create({.run_ahead = kRunAhead});
  std::array<Variable, 16> variables;
  for (Variable& variable : variables) variable = engine->variable("v");
  int64_t sum = 0;
  const long before = allocations;
  for (int64_t i = 0; i < 1'000'000; ++i) {
    engine->push({}, {variables[static_cast<size_t>(i) % 15]}, {variables[15]}, [&sum, i] { return sum += i, ok(); });
  }
  ASSERT_TRUE(engine->wait_all().ok());
  EXPECT_EQ(sum, int64_t{999'999} * 1'000'000 / 2);
  EXPECT_LE(allocations - before, static_cast<long>(4 * kRunAhead));
}

}  // namespace
}  // namespace mxc::engine
