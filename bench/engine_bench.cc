// What an operation costs in the engine, end to end, and a step of a compiled graph beyond its kernel.
//
// engine_bench: one line a case. The figures are medians over rounds of pushing many operations and waiting once, over their number: the
// processor time of the whole process (that of all threads, spinning included, and independent of what else runs on the machine), and
// the time on the clock. `plain` stands for what an operation does (an addition of 16 floats) called in a loop. Operations marked
// `cheap` may run where they are pushed; `queued` ones go through a lane's thread; `behind` ones are cheap, but their lane is busy until
// all are queued.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <string>
#include <vector>

#include <time.h>

#include "runtime/engine/graph_run.h"
#include "tests/runtime/plan_builder.h"

namespace mxc::engine {
namespace {

constexpr int kRounds = 15;
constexpr int kOperations = 100'000;

using Row = std::array<float, 16>;

void add(Row& to, const Row& a, const Row& b) {
  for (size_t i = 0; i < to.size(); ++i) to[i] = a[i] + b[i];
}

struct Figures {
  double processor, wall;  // nanoseconds
};

double nanoseconds(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return 1e9 * static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + kRounds / 2, values.end());
  return values[kRounds / 2];
}

Figures measure(int count, const std::function<void()>& round) {
  std::vector<double> processor, wall;
  round();
  for (int i = 0; i < kRounds; ++i) {
    const double processor_start = nanoseconds(CLOCK_PROCESS_CPUTIME_ID), wall_start = nanoseconds(CLOCK_MONOTONIC);
    round();
    processor.push_back((nanoseconds(CLOCK_PROCESS_CPUTIME_ID) - processor_start) / count);
    wall.push_back((nanoseconds(CLOCK_MONOTONIC) - wall_start) / count);
  }
  return {median(processor), median(wall)};
}

void print(const std::string& name, const Figures& figures, double goal) {
  std::printf("%-28s %8.1f ns   clock %8.1f", name.c_str(), figures.processor, figures.wall);
  if (goal > 0) std::printf("   goal %4.0f: %s", goal, figures.processor <= goal ? "met" : "MISSED");
  std::printf("\n");
  std::fflush(stdout);
}

struct Arrays {
  Arrays(Engine& engine, size_t count) : rows(count, Row{}) {
    for (size_t i = 0; i < count; ++i) variables.push_back(engine.variable("row", sizeof(Row)));
  }
  std::vector<Row> rows;
  std::vector<Variable> variables;
};

absl::Status ok() { return absl::OkStatus(); }

// Operation i of a case.
using Push = std::function<void(Engine&, Arrays&, const Traits&, size_t i)>;

void chain(Engine& engine, Arrays& a, const Traits& traits, size_t) {
  engine.push(traits, {a.variables[0], a.variables[1]}, {a.variables[0]},
              [to = &a.rows[0], b = &a.rows[1]] { return add(*to, *to, *b), ok(); });
}

void independent(Engine& engine, Arrays& a, const Traits& traits, size_t i) {
  const size_t k = i % 64;
  engine.push(traits, {a.variables[64]}, {a.variables[k]}, [to = &a.rows[k], b = &a.rows[64]] { return add(*to, *to, *b), ok(); });
}

void many_variables(Engine& engine, Arrays& a, const Traits& traits, size_t i) {
  const size_t k = i % 32;
  const std::vector<Variable>& v = a.variables;
  engine.push(traits, {v[k], v[k + 1], v[k + 2], v[k + 3], v[k + 4], v[k + 5], v[k + 6], v[k + 7]}, {v[k + 8], v[k + 9]},
              [to = &a.rows[k + 8], b = &a.rows[k]] { return add(*to, *to, *b), ok(); });
}

void bench_pushes(const std::string& name, const Push& push, double goal) {
  std::unique_ptr<Engine> engine = *Engine::create({});
  Arrays arrays(*engine, 65);
  for (bool cheap : {true, false}) {
    const Traits traits = {.name = "add", .cheap = cheap};
    const Figures figures = measure(kOperations, [&] {
      for (size_t i = 0; i < kOperations; ++i) push(*engine, arrays, traits, i);
      if (!engine->wait_all().ok()) std::abort();
    });
    print(name + (cheap ? ", cheap" : ", queued"), figures, goal);
  }
  // The gate counts as one operation more; the run-ahead has room for all.
  std::unique_ptr<Engine> far = *Engine::create({.run_ahead = kOperations + 8});
  Arrays behind(*far, 65);
  const Figures figures = measure(kOperations, [&] {
    std::promise<void> gate;
    std::shared_future<void> open = gate.get_future().share();
    far->push({.name = "gate"}, {}, {}, [open] { return open.wait(), ok(); });
    for (size_t i = 0; i < kOperations; ++i) push(*far, behind, {.name = "add", .cheap = true}, i);
    gate.set_value();
    if (!far->wait_all().ok()) std::abort();
  });
  print(name + ", behind", figures, 0);
}

void nothing(void* const*, int64_t, int64_t, int64_t) {}

// A graph of empty kernels, run as one operation and waited for; with `outputs`, as many variables are released on the way.
void bench_steps(int steps, int outputs) {
  using test::in;
  using test::out;
  test::PlanBuilder builder;
  std::vector<uint32_t> buffers;
  for (int i = 0; i <= outputs; ++i) buffers.push_back(builder.buffer({.name = "b", .dims = {16}, .space = plan::Space::io}));
  builder.begin_graph("train", plan::GraphKind::train, 64);
  for (int i = 0; i < steps; ++i) {
    const uint32_t written = outputs == 0 ? buffers[0] : buffers[static_cast<size_t>(1 + i * outputs / steps)];
    builder.step({.name = "step", .kernel = nothing, .args = {in(buffers[0]), out(written)}, .cells = 4, .batch_unit = 1});
  }
  builder.end_graph();
  const test::BuiltPlan built = builder.build();
  const plan::Program program = built.program();
  core::PlanView view;
  core::Storage storage;
  core::Executor executor;
  if (!core::PlanView::open(program, &view).ok() || !core::Storage::create(view, &storage).ok() ||
      !core::Executor::create(program, view, 0, storage, nullptr, &executor).ok()) {
    std::abort();
  }
  std::unique_ptr<Engine> engine = *Engine::create({});
  Variable memory = engine->variable("memory");
  std::vector<BoundVariable> bound;
  for (int i = 1; i <= outputs; ++i) bound.push_back({buffers[static_cast<size_t>(i)], engine->variable("gradient")});
  absl::StatusOr<CompiledGraph> graph = CompiledGraph::create(&executor, view, memory, bound);
  if (!graph.ok()) std::abort();
  const int runs = 20'000 / steps + 1;
  const Figures figures = measure(runs * steps, [&] {
    for (int i = 0; i < runs; ++i) push_graph(*engine, *graph, 64);
    if (!engine->wait(memory).ok()) std::abort();
  });
  print("a step of " + std::to_string(steps) + (outputs == 0 ? "" : ", " + std::to_string(outputs) + " outputs"), figures, 100);
}

void run() {
  Arrays arrays(**Engine::create({.naive = true}), 2);
  print("plain", measure(kOperations, [&] {
          for (int i = 0; i < kOperations; ++i) {
            add(arrays.rows[0], arrays.rows[0], arrays.rows[1]);
            asm volatile("" : : "r"(arrays.rows.data()) : "memory");
          }
        }), 0);
  bench_pushes("chain", chain, 600);
  bench_pushes("independent", independent, 600);
  bench_pushes("many variables", many_variables, 0);
  bench_steps(20, 0);
  bench_steps(200, 0);
  bench_steps(200, 20);
}

}  // namespace
}  // namespace mxc::engine

int main() {
  mxc::engine::run();
  return 0;
}
