// The paper's own loop, forward_backward(); push; pull: a gradient travels, and is in its value, while backward computes the others. Whatever on this way
// waits for the whole of backward, in the program or in the store, keeps the gate shut.
#include <gtest/gtest.h>

#include <chrono>
#include <future>

#include "tests/runtime/executor/executor_models.h"
#include "tests/runtime/kv/job.h"

namespace mxc {
namespace {

using namespace mxc::test;
using plan::GraphKind, plan::OutputKind, plan::Role, plan::Space;

// Kernels cannot capture: what the late one waits for, and whether it came. The time limit turns a hang into a failure.
std::shared_future<void> updated;
bool in_time = false;

float& number(void* address) { return *static_cast<float*>(address); }
void twice(void* const* args, int64_t, int64_t, int64_t) { number(args[1]) = 2 * number(args[0]); }
void late_twice(void* const* args, int64_t n, int64_t begin, int64_t end) {
  in_time = updated.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  twice(args, n, begin, end);
}

// Backward makes the gradient of "last" first, and then, late, that of "first": both are 2 x.
BuiltPlan two_parameters() {
  PlanBuilder b;
  const auto scalar = [&](const char* name, Role role) { return b.buffer({.name = name, .dims = {}, .space = Space::io, .role = role}); };
  for (const char* name : {"first", "last"}) b.parameter({.name = name, .dims = {}});
  const uint32_t x = scalar("x", Role::input), loss = scalar("loss", Role::output);
  const uint32_t of_last = scalar("last", Role::output), of_first = scalar("first", Role::output);
  b.begin_graph("forward_backward", GraphKind::user, 0);
  b.input(x);
  b.step({.name = "loss", .kernel = twice, .args = {in(x), out(loss)}});
  b.begin_backward();
  b.step({.name = "gradient of last", .kernel = twice, .args = {in(x), out(of_last)}});
  b.step({.name = "gradient of first", .kernel = late_twice, .args = {in(x), out(of_first)}});
  b.output(loss, OutputKind::loss);
  b.output(of_first, OutputKind::gradient);
  b.output(of_last, OutputKind::gradient);
  b.end_graph();
  return b.build();
}

TEST(KVStoreOverlap, AGradientIsInItsValueWhileBackwardGoesOn) {
  const auto here = [](Here place = Here::current()) { return place; };
  const HandModel model("two", two_parameters());
  std::promise<void> update;
  updated = update.get_future().share();
  in_time = false;
  const auto loop = [&](kv::Store& store) {
    store.set_updater(
        [&](const KVUpdate& made) {
          if (made.key == "last") update.set_value();
          made.value -= 0.5f * made.gradient;
        },
        here());
    Executor net(model);
    for (Parameter& p : net.parameters()) store.init(p.name, p.value, here());
    net["x"] = NDArray::full({}, 3);
    net.forward_backward();
    for (Parameter& p : net.parameters()) {
      store.push(p.name, {p.grad}, KVStore::kByOrder, here());
      store.pull(p.name, p.value, here());
    }
    for (Parameter& p : net.parameters()) EXPECT_EQ(p.value.item<float>(), -3) << p.name;
  };
  EXPECT_EQ(kv::test::run_job({.workers = 1, .shards = 1}, loop), kv::test::without_errors(1));
  EXPECT_TRUE(in_time) << "the gradient of \"last\" did not leave before backward had ended";
}

}  // namespace
}  // namespace mxc
