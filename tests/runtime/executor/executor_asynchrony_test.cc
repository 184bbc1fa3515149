// What runs when: gradients are given away while backward works, inputs may come late, executors of several threads, failures.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "runtime/ndarray/array.h"
#include "tests/runtime/executor/executor_models.h"

namespace mxc {
namespace {

using namespace mxc::test;
using plan::GraphKind;
using plan::OutputKind;
using plan::Role;
using plan::Space;

// Kernels cannot capture: what they wait for. The time limit turns a hang into a failure.
std::atomic<bool> go{false}, in_vain{false};
void wait_for_go() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!go && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  if (!go) in_vain = true;
}

float& number(void* address) { return *static_cast<float*>(address); }
void twice(void* const* args, int64_t, int64_t, int64_t) { number(args[1]) = 2 * number(args[0]); }
void add(void* const* args, int64_t, int64_t, int64_t) { number(args[2]) = number(args[0]) + number(args[1]); }
void late_twice(void* const* args, int64_t, int64_t, int64_t) {
  wait_for_go();
  number(args[1]) = 2 * number(args[0]);
}

class ExecutorAsynchrony : public testing::Test {
 protected:
  void SetUp() override { go = in_vain = false; }
  PlanBuilder b;
  BufferSpec scalar(const char* name, Role role) { return {.name = name, .dims = {}, .space = Space::io, .role = role}; }
};

TEST_F(ExecutorAsynchrony, TheFirstGradientIsUsedWhileBackwardWorks) {
  const uint32_t first = b.parameter({.name = "first", .dims = {}}), second = b.parameter({.name = "second", .dims = {}});
  const uint32_t x = b.buffer(scalar("x", Role::input)), loss = b.buffer(scalar("loss", Role::output));
  const uint32_t second_grad = b.buffer(scalar("second", Role::output)), first_grad = b.buffer(scalar("first", Role::output));
  b.begin_graph("forward_backward", GraphKind::user, 0);
  b.input(x);
  b.step({.name = "loss", .kernel = twice, .args = {in(x), out(loss)}});
  b.begin_backward();
  b.step({.name = "early", .kernel = twice, .args = {in(x), out(second_grad)}});
  b.step({.name = "late", .kernel = late_twice, .args = {in(x), out(first_grad)}});
  b.output(loss, OutputKind::loss);
  b.output(second_grad, OutputKind::gradient);
  b.output(first_grad, OutputKind::gradient);
  b.end_graph();
  (void)first, (void)second;
  HandModel model("two", b.build());
  Executor net(model);
  net["x"] = NDArray::full({}, 21);
  net.forward_backward();
  // Both wait for the gradient alone: an operation on it, and the update of its parameter.
  NDArray half = net.gradient("second") * 0.5f;
  net.parameters()[1].value -= 0.1f * net.parameters()[1].grad;
  EXPECT_EQ(half.item<float>(), 21);
  EXPECT_FLOAT_EQ(net.parameters()[1].value.item<float>(), -4.2f);
  EXPECT_FALSE(go);
  go = true;
  EXPECT_EQ(net.gradient("first").item<float>(), 42);
  EXPECT_FALSE(in_vain);
}

TEST_F(ExecutorAsynchrony, AnInputMayArriveLate) {
  const uint32_t x = b.buffer(scalar("x", Role::input)), y = b.buffer(scalar("y", Role::input));
  const uint32_t early = b.buffer(scalar("early", Role::output)), sum = b.buffer(scalar("sum", Role::output));
  b.begin_graph("infer", GraphKind::infer, 0);
  b.input(x);
  b.input(y);
  b.step({.name = "early", .kernel = twice, .args = {in(x), out(early)}});
  b.step({.name = "sum", .kernel = add, .args = {in(x), in(y), out(sum)}});
  b.output(early);
  b.output(sum);
  b.end_graph();
  HandModel model("late", b.build());
  Executor net(model);
  net["x"] = NDArray::full({}, 1);
  // y comes from an operation that ends when the graph's first output has been seen.
  NDArray source = NDArray::full({}, 0);
  ndarray::View view = ndarray::view_of(source);
  ndarray::begin_write(*view.chunk);
  view.chunk->engine->push({.name = "slow", .lane = engine::Lane::io}, {}, {view.chunk->variable}, [chunk = view.chunk] {
    wait_for_go();
    number(chunk->ensure()) = 5;
    return absl::OkStatus();
  });
  net["y"] = source;
  net.forward();
  EXPECT_EQ(net["early"].item<float>(), 2);
  EXPECT_FALSE(go);
  go = true;
  EXPECT_EQ(net["sum"].item<float>(), 6);
  EXPECT_FALSE(in_vain);
}

TEST_F(ExecutorAsynchrony, EachThreadItsOwnExecutor) {
  HandModel model = softmax();
  // Also two threads whose executors share an arena and the parameters, which nobody changes.
  Executor first(model, cpu(), {.seed = 1});
  const Samples samples(9);
  const SoftmaxReference expected(samples, floats(first.parameters()[0].value), floats(first.parameters()[1].value));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      ExecutorOptions options{.seed = 1, .share = t < 2 ? &first : nullptr, .threads = 2};
      Executor net(model, cpu(), options);
      for (int step = 0; step < 20; ++step) {
        net["image"] = samples.images();
        net["label"] = samples.labels();
        net.forward_backward();
        const std::vector<float> gradient = floats(net.parameters()[0].grad);
        for (size_t i = 0; i < gradient.size(); ++i) wrong += std::abs(gradient[i] - expected.weight_gradient[i]) > 1e-6;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(ExecutorAsynchrony, ALabelOutOfRangeFailsWhereItsResultIsRead) {
  HandModel model = softmax();
  Executor net(model);
  const Samples samples(3);
  net["image"] = samples.images();
  net["label"] = NDArray::from(std::vector<int32_t>{1, 10, 2}, {3});
  net.evaluate();
  const std::string message = message_of([&] { net.loss().item<float>(); });
  EXPECT_NE(message.find("input: input 'label' holds 10 at element 1, expected 0 <= value < 10"), std::string::npos) << message;
  // The next run is as if nothing had been.
  net["label"] = samples.labels();
  net.evaluate();
  const SoftmaxReference expected(samples, floats(net.parameters()[0].value), floats(net.parameters()[1].value));
  EXPECT_NEAR(net.loss().item<float>(), expected.loss, 1e-5);
}

TEST_F(ExecutorAsynchrony, AFailedStepLeavesTheParametersAsTheyWere) {
  HandModel model = softmax();
  Executor net(model);
  const Samples samples(3);
  const std::vector<float> before = floats(net.parameters()[0].value);
  net["image"] = samples.images();
  net["label"] = NDArray::from(std::vector<int32_t>{-1, 1, 2}, {3});
  net.step();
  EXPECT_NE(message_of([&] { net.wait(); }).find("'label' holds -1 at element 0"), std::string::npos);
  net["label"] = samples.labels();
  net.step();
  net.wait();
  const SoftmaxReference expected(samples, before, std::vector<float>(10, 0));
  EXPECT_NEAR(net.loss().item<float>(), expected.loss, 1e-5);
  EXPECT_NE(floats(net.parameters()[0].value), before);
}

}  // namespace
}  // namespace mxc
