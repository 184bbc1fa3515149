// Graphs of hand-written Plans through the engine: late inputs, early outputs, one arena.
#include "runtime/engine/graph_run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <vector>

#include "tests/runtime/engine/engines.h"
#include "tests/runtime/plan_builder.h"

namespace mxc::engine {
namespace {

using namespace mxc::test;
using plan::GraphKind;
using plan::Space;

constexpr auto kLong = std::chrono::seconds(20);

float& number(void* address) { return *static_cast<float*>(address); }

// Kernels cannot capture: what a test's kernel waits for.
std::atomic<bool> go{false};
std::atomic<bool> waited_in_vain{false};
void wait_for_go() {
  auto end = std::chrono::steady_clock::now() + kLong;
  while (!go && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  if (!go) waited_in_vain = true;
}

void twice(void* const* args, int64_t, int64_t, int64_t) { number(args[1]) = 2 * number(args[0]); }
void add(void* const* args, int64_t, int64_t, int64_t) { number(args[2]) = number(args[0]) + number(args[1]); }
void twice_when_told(void* const* args, int64_t, int64_t, int64_t) {
  wait_for_go();
  number(args[1]) = 2 * number(args[0]);
}
void increase(void* const* args, int64_t, int64_t, int64_t) { number(args[0]) += number(args[1]); }

struct Ready {
  explicit Ready(const PlanBuilder& builder, bool naive = false) : built(builder.build()), program(built.program()) {
    go = false;
    waited_in_vain = false;
    core::Status status = core::PlanView::open(program, &view);
    EXPECT_TRUE(status.ok()) << status.text;
    EXPECT_TRUE(core::Storage::create(view, &storage).ok());
    engine = *Engine::create({.naive = naive});
    memory = engine->variable("memory");
    for (const plan::Buffer& buffer : view.buffers()) variables.push_back(engine->variable(view.text(buffer.name)));
    for (uint32_t i = 0; i < view.graphs().size(); ++i) {
      executors.push_back(std::make_unique<core::Executor>());
      EXPECT_TRUE(core::Executor::create(program, view, i, storage, nullptr, executors.back().get()).ok());
    }
  }
  CompiledGraph graph(uint32_t index, const std::vector<uint32_t>& bound) {
    std::vector<BoundVariable> pairs;
    for (uint32_t buffer : bound) pairs.push_back({buffer, variables[buffer]});
    absl::StatusOr<CompiledGraph> made = CompiledGraph::create(executors[index].get(), view, memory, pairs);
    EXPECT_TRUE(made.ok()) << made.status();
    return *made;
  }
  float& at(uint32_t buffer) { return number(storage.address(view.buffer(buffer))); }

  BuiltPlan built;
  plan::Program program;
  core::PlanView view;
  core::Storage storage;
  std::vector<std::unique_ptr<core::Executor>> executors;
  Variable memory;
  std::vector<Variable> variables;
  std::unique_ptr<Engine> engine;  // last: it ends before what its operations use
};

BufferSpec scalar(std::string name, Space space = Space::io) { return {.name = std::move(name), .dims = {}, .space = space}; }

TEST(GraphRun, AnOutputIsHandedOnWhileLaterStepsRun) {
  PlanBuilder b;
  uint32_t x = b.buffer(scalar("x")), first = b.buffer(scalar("first")), second = b.buffer(scalar("second"));
  b.begin_graph("train", GraphKind::train, 0);
  b.step({.name = "early", .kernel = twice, .args = {in(x), out(first)}});
  b.step({.name = "late", .kernel = twice_when_told, .args = {in(x), out(second)}});
  b.end_graph();
  Ready r(b);
  r.at(x) = 21;
  CompiledGraph graph = r.graph(0, {x, first, second});
  push_graph(*r.engine, graph, 1);
  float pushed = 0;
  // The paper's loop: this push of the first gradient lets the graph's last step end.
  r.engine->push({.name = "push", .lane = Lane::network}, {r.variables[first]}, {}, [&] { return pushed = r.at(first), go = true, ok(); });
  ASSERT_TRUE(r.engine->wait_all().ok());
  EXPECT_FALSE(waited_in_vain);
  EXPECT_EQ(pushed, 42);
  EXPECT_EQ(r.at(second), 42);
}

TEST(GraphRun, AnInputIsNeededByItsFirstStepOnly) {
  PlanBuilder b;
  uint32_t x = b.buffer(scalar("x")), y = b.buffer(scalar("y")), early = b.buffer(scalar("early")), sum = b.buffer(scalar("sum"));
  b.begin_graph("eval", GraphKind::eval, 0);
  b.step({.name = "early", .kernel = twice, .args = {in(x), out(early)}});
  b.step({.name = "late", .kernel = add, .args = {in(x), in(y), out(sum)}});
  b.end_graph();
  Ready r(b);
  r.at(x) = 1;
  // y is produced only after the graph's first output has been seen.
  std::promise<void> seen;
  std::shared_future<void> early_seen = seen.get_future().share();
  bool in_time = false;
  r.engine->push({.lane = Lane::io}, {}, {r.variables[y]}, [&] {
    in_time = early_seen.wait_for(kLong) == std::future_status::ready;
    return r.at(y) = 5, ok();
  });
  CompiledGraph graph = r.graph(0, {x, y, early, sum});
  push_graph(*r.engine, graph, 1);
  r.engine->push({.lane = Lane::copy}, {r.variables[early]}, {}, [&] { return seen.set_value(), ok(); });
  ASSERT_TRUE(r.engine->wait(r.variables[sum]).ok());
  EXPECT_TRUE(in_time);
  EXPECT_EQ(r.at(sum), 6);
}

TEST(GraphRun, HoldsFollowTheUses) {
  PlanBuilder b;
  uint32_t x = b.buffer(scalar("x")), w = b.buffer(scalar("w", Space::persistent)), y = b.buffer(scalar("y")), z = b.buffer(scalar("z"));
  uint32_t untouched = b.buffer(scalar("untouched"));
  b.begin_graph("train", GraphKind::train, 0);
  b.step({.kernel = add, .args = {in(x), in(w), out(y)}});       // 0
  b.step({.kernel = twice, .args = {in(y), out(z)}});            // 1
  b.step({.kernel = increase, .args = {inout(w), in(z)}});       // 2
  b.step({.kernel = twice, .args = {in(w), out(z)}});            // 3
  b.end_graph();
  Ready r(b);
  CompiledGraph graph = r.graph(0, {x, w, y, z, untouched});
  struct Expected {
    uint32_t buffer;
    bool write;
    uint32_t first, last;
  };
  std::vector<Expected> expected = {{x, false, 0, 0}, {w, false, 0, 1}, {w, true, 2, 2}, {w, false, 3, 3},
                                    {y, true, 0, 0},  {y, false, 1, 1}, {z, true, 1, 3}};
  std::vector<Hold> holds = graph.holds();
  EXPECT_EQ(holds.size(), expected.size() + 1);
  for (const Expected& e : expected) {
    EXPECT_TRUE(std::any_of(holds.begin(), holds.end(), [&](const Hold& h) {
      return h.variable == r.variables[e.buffer] && h.write == e.write && h.first == e.first && h.last == e.last;
    })) << e.buffer << " " << e.first;
  }
  EXPECT_TRUE(holds[0].variable == r.memory && holds[0].write && holds[0].first == 0 && holds[0].last == 3);
}

class BothEngines : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Naive, BothEngines, testing::Bool());

TEST_P(BothEngines, TrainingLoop) {
  // w += 2 (x + w) per step, with x set between steps by an operation, and w read in between.
  PlanBuilder b;
  uint32_t x = b.buffer(scalar("x")), w = b.buffer(scalar("w", Space::persistent));
  uint32_t y = b.buffer(scalar("y", Space::arena)), g = b.buffer(scalar("g", Space::arena));
  b.begin_graph("train", GraphKind::train, 4);
  b.step({.kernel = add, .args = {in(x), in(w), out(y)}});
  b.step({.kernel = twice, .args = {in(y), out(g)}});
  b.step({.kernel = increase, .args = {inout(w), in(g)}});
  b.end_graph();
  Ready r(b, GetParam());
  CompiledGraph graph = r.graph(0, {x, w});
  std::vector<float> seen(20);
  double expected = 0;
  int prepared = 0;
  for (int step = 0; step < 20; ++step) {
    r.engine->push({.lane = Lane::io}, {}, {r.variables[x]}, [&, step] { return r.at(x) = static_cast<float>(step % 3), ok(); });
    push_graph(*r.engine, graph, 1 + step % 4, 0, [&] { return ++prepared, ok(); });
    r.engine->push({.lane = Lane::copy}, {r.variables[w]}, {}, [&, step] { return seen[static_cast<size_t>(step)] = r.at(w), ok(); });
  }
  ASSERT_TRUE(r.engine->wait_all().ok());
  EXPECT_EQ(prepared, 20);
  for (int step = 0; step < 14; ++step) {  // exact in f32 that far
    expected += 2 * (step % 3 + expected);
    EXPECT_EQ(seen[static_cast<size_t>(step)], expected) << step;
  }
}

TEST_P(BothEngines, ErrorsOfARunReachItsOutputs) {
  PlanBuilder b;
  uint32_t x = b.buffer(scalar("x")), y = b.buffer(scalar("y"));
  b.begin_graph("eval", GraphKind::eval, 4);
  b.step({.kernel = twice, .args = {in(x), out(y)}});
  b.end_graph();
  Ready r(b, GetParam());
  CompiledGraph graph = r.graph(0, {x, y});
  push_graph(*r.engine, graph, 9);
  EXPECT_EQ(r.engine->wait(r.variables[y]), absl::InvalidArgumentError("eval: graph 'eval': a run with 9 samples of at most 4"));
  // The arena carries it too: what lies there is unknown.
  EXPECT_FALSE(r.engine->wait(r.memory).ok());
  r.engine->recover(r.variables[y]);
  r.engine->recover(r.memory);
  push_graph(*r.engine, graph, 2, 0, [] { return absl::CancelledError("not now"); });
  EXPECT_EQ(r.engine->wait(r.variables[y]), absl::CancelledError("eval: not now"));
  // The next run on the same memory works.
  r.engine->recover(r.variables[y]);
  r.engine->recover(r.memory);
  r.at(x) = 4;
  push_graph(*r.engine, graph, 4);
  EXPECT_TRUE(r.engine->wait(r.variables[y]).ok());
  EXPECT_EQ(r.at(y), 8);
}

TEST_P(BothEngines, TracesTheSteps) {
  PlanBuilder b;
  uint32_t x = b.buffer(scalar("x")), y = b.buffer(scalar("y"));
  b.begin_graph("eval", GraphKind::eval, 0);
  b.step({.name = "dense0", .kernel = twice, .args = {in(x), out(y)}});
  b.end_graph();
  Ready r(b, GetParam());
  Trace trace;
  r.engine->set_trace(&trace);
  CompiledGraph graph = r.graph(0, {x, y});
  push_graph(*r.engine, graph, 1);
  ASSERT_TRUE(r.engine->wait_all().ok());
  std::string json = trace.json();
  EXPECT_NE(json.find("\"name\": \"dense0\", \"cat\": \"step\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"args\": {\"bytes read\": 4, \"bytes written\": 4}"), std::string::npos) << json;  // a float each
  EXPECT_NE(json.find("\"name\": \"eval\", \"cat\": \"compute\""), std::string::npos) << json;
}

TEST(GraphRun, RefusesWhatIsNotInThePlan) {
  PlanBuilder b;
  uint32_t x = b.buffer(scalar("x")), y = b.buffer(scalar("y"));
  b.begin_graph("eval", GraphKind::eval, 0);
  b.step({.kernel = twice, .args = {in(x), out(y)}});
  b.end_graph();
  Ready r(b);
  EXPECT_EQ(CompiledGraph::create(r.executors[0].get(), r.view, r.memory, {{7, r.variables[x]}}).status().message(),
            "bound buffer 7 is not in the plan");
  EXPECT_FALSE(CompiledGraph::create(r.executors[0].get(), r.view, r.memory, {{x, r.memory}}).ok());
}

}  // namespace
}  // namespace mxc::engine
