// A running step asks nobody for memory: every call of the allocator is counted while a graph runs.
#include <gtest/gtest.h>

#include "runtime/core/executor.h"
#include "tests/runtime/counted_allocations.h"
#include "tests/runtime/plan_builder.h"

namespace mxc::core {
namespace {

using test::allocations;
using test::in;
using test::out;

void add_one(void* const* args, int64_t, int64_t begin, int64_t end) {
  const float* x = static_cast<float*>(args[0]);
  float* y = static_cast<float*>(args[1]);
  for (int64_t i = begin; i < end; ++i) y[i] = x[i] + 1;
}

TEST(Allocation, NoneWhileAGraphRuns) {
  test::PlanBuilder builder;
  constexpr int64_t kBatch = 64;
  uint32_t x = builder.buffer({.name = "x", .dims = {kBatch}, .space = plan::Space::io, .batch_axis = 0});
  uint32_t a = builder.buffer({.name = "a", .dims = {kBatch}, .batch_axis = 0});
  uint32_t y = builder.buffer({.name = "y", .dims = {kBatch}, .space = plan::Space::io, .batch_axis = 0});
  builder.begin_graph("g", plan::GraphKind::infer, kBatch);
  builder.step({.name = "first", .kernel = add_one, .args = {in(x), out(a)}, .batch_unit = 1});
  builder.begin_loop(3);
  builder.step({.name = "again", .kernel = add_one, .args = {in(a), out(y)}, .batch_unit = 1});
  builder.end_block();
  builder.input(x);
  builder.output(y);
  builder.end_graph();
  test::BuiltPlan built = builder.build();
  plan::Program program = built.program();
  PlanView view;
  ASSERT_TRUE(PlanView::open(program, &view).ok());
  Storage storage;
  ASSERT_TRUE(Storage::create(view, &storage).ok());
  ThreadPool pool;
  ASSERT_TRUE(ThreadPool::create(3, &pool).ok());
  Executor executor;
  const long before_create = allocations;
  ASSERT_TRUE(Executor::create(program, view, 0, storage, &pool, &executor).ok());
  ASSERT_GT(allocations, before_create);  // the count sees what the core asks for
  const long before = allocations;
  bool good = true;
  for (int64_t n = 1; n <= kBatch; ++n) good &= executor.run(n).ok();
  const long during = allocations - before;
  EXPECT_TRUE(good);
  EXPECT_EQ(during, 0);
  EXPECT_EQ(static_cast<float*>(executor.address(y))[5], 2);
}

}  // namespace
}  // namespace mxc::core
