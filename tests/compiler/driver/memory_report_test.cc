// The memory report of Plans made by hand, whose lifetimes and peaks were worked out on paper.
#include "driver/memory_report.h"

#include <gtest/gtest.h>

#include "tests/runtime/plan_builder.h"

namespace mxc::driver {
namespace {

using test::in;
using test::out;

// a (640 bytes) -> b in its place -> c; d is read until the end; v is c under another shape.
//   step:  0    1    2    3
//   a      x----x                   at 0
//   b           x----x              at 0
//   c                x----x         at 640, 128 bytes, read as v
//   d      x--------------x         at 768, 64 bytes
// Alive: 704, 704, 832 (b, c, d), 192.
class Report : public testing::Test {
 protected:
  void SetUp() override {
    builder_.fact("model", "hand");
    uint32_t x = builder_.buffer({.name = "x", .dims = {10}, .space = plan::Space::io, .role = plan::Role::input});
    builder_.buffer({.name = "w", .dims = {3, 5}, .space = plan::Space::persistent, .role = plan::Role::parameter, .block_axis = 1, .block = 16});
    uint32_t a = builder_.buffer({.name = "a", .dims = {160}, .offset = 0});
    uint32_t b = builder_.buffer({.name = "b", .dims = {160}, .role = plan::Role::gradient, .offset = 0});
    uint32_t c = builder_.buffer({.name = "c", .dims = {4, 8}, .offset = 640});
    uint32_t v = builder_.buffer({.name = "v", .dims = {32}, .offset = 640});
    uint32_t d = builder_.buffer({.name = "d", .dims = {16}, .offset = 768});
    uint32_t y = builder_.buffer({.name = "y", .dims = {2}, .space = plan::Space::io, .role = plan::Role::output});
    builder_.begin_graph("train", plan::GraphKind::train, 0);
    builder_.input(x);
    builder_.output(y);
    builder_.step({.name = "first", .kernel = kernel, .args = {in(x), out(a), out(d)}});
    builder_.step({.name = "second", .kernel = kernel, .args = {in(a), out(b)}});
    builder_.step({.name = "third", .kernel = kernel, .args = {in(b), out(c)}});
    builder_.step({.name = "last", .kernel = kernel, .args = {in(v), in(d), out(y)}});
    builder_.end_graph();
  }

  MemoryReport report() {
    plan_ = std::make_unique<test::BuiltPlan>(builder_.build());
    core::PlanView view;
    core::Status status = core::PlanView::open(plan_->program(), &view);
    EXPECT_TRUE(status.ok()) << status.text;
    return memoryReport(view);
  }

  static void kernel(void* const*, int64_t, int64_t, int64_t) {}
  test::PlanBuilder builder_;
  std::unique_ptr<test::BuiltPlan> plan_;
};

TEST_F(Report, FindsLifetimesAndThePeak) {
  MemoryReport memory = report();
  ASSERT_EQ(memory.graphs.size(), 1u);
  const GraphMemory& graph = memory.graphs[0];
  EXPECT_EQ(graph.peak_bytes, 832u);
  EXPECT_EQ(graph.peak_step, 2u);
  EXPECT_EQ(graph.arena_bytes, 832u);
  std::vector<std::tuple<std::string, size_t, size_t>> lives;
  for (const ArenaTensor& tensor : graph.tensors) lives.push_back({tensor.name, tensor.first, tensor.last});
  std::vector<std::tuple<std::string, size_t, size_t>> expected = {{"a", 0, 1}, {"d", 0, 3}, {"b", 1, 2}, {"c", 2, 3}};
  EXPECT_EQ(lives, expected);
}

TEST_F(Report, SumsWhatLivesLong) {
  MemoryReport memory = report();
  EXPECT_EQ(memory.sums[0].bytes, 3u * 16 * 4);
  EXPECT_EQ(memory.sums[0].padding, 3u * 11 * 4);
  EXPECT_EQ(memory.sums[4].bytes, 40u);
  EXPECT_EQ(memory.sums[5].bytes, 8u);
  EXPECT_EQ(memory.total_bytes, 832u + 192 + 128);  // places are multiples of 64
}

TEST_F(Report, IsTextForPeople) {
  std::string text = memoryText(report());
  EXPECT_NE(text.find("memory of hand\n  parameters                             192         0.0 MiB, of which padding 132\n"), std::string::npos) << text;
  EXPECT_NE(text.find("graph train: arena 832 bytes, peak 832 at step 2 of 4 (third)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("                     640  gradient    1-2          b\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("0-1          a"), std::string::npos) << text;
}

TEST_F(Report, IsAPicture) {
  std::string svg = memorySvg(report());
  EXPECT_NE(svg.find("<title>d (activation) : 64 bytes at 768, steps 0-3</title>"), std::string::npos) << svg;
  EXPECT_NE(svg.find("peak 832"), std::string::npos);
}

TEST(ReportOfALoop, KeepsWhatItTouchesWhileItRuns) {
  test::PlanBuilder builder;
  uint32_t a = builder.buffer({.name = "a", .dims = {16}}), b = builder.buffer({.name = "b", .dims = {16}});
  builder.begin_graph("user", plan::GraphKind::user, 0);
  auto kernel = [](void* const*, int64_t, int64_t, int64_t) {};
  builder.step({.name = "before", .kernel = kernel, .args = {out(a)}});
  builder.begin_loop(3);
  builder.step({.name = "one", .kernel = kernel, .args = {in(a), out(b)}});
  builder.step({.name = "two", .kernel = kernel, .args = {in(b)}});
  builder.end_block();
  builder.end_graph();
  test::BuiltPlan plan = builder.build();
  core::PlanView view;
  ASSERT_TRUE(core::PlanView::open(plan.program(), &view).ok());
  MemoryReport memory = memoryReport(view);
  EXPECT_EQ(memory.graphs[0].tensors[0].last, 2u);
  EXPECT_EQ(memory.graphs[0].tensors[1].first, 1u);
}

}  // namespace
}  // namespace mxc::driver
