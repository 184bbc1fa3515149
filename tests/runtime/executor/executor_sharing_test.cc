// Executors that share parameters, state and one arena, in one layout or in two.
#include <gtest/gtest.h>

#include "runtime/core/plan_view.h"
#include "tests/runtime/executor/executor_models.h"

namespace mxc {
namespace {

using namespace mxc::test;

void run(Executor& net, const Samples& samples) {
  net["image"] = samples.images();
  net["label"] = samples.labels();
  net.forward_backward();
}

uint64_t own_arena(const HandModel& model) {
  core::PlanView view;
  EXPECT_TRUE(core::PlanView::open(model.program(), &view).ok());
  return view.devices()[0].arena_bytes;
}

TEST(ExecutorSharing, OneArenaAsLargeAsTheLargest) {
  HandModel small = softmax({.batch = 8}), middle = softmax({.batch = 64}), large = softmax({.batch = 512});
  ASSERT_LT(own_arena(small), own_arena(middle));
  ASSERT_LT(own_arena(middle), own_arena(large));
  Executor a(middle);
  EXPECT_EQ(a.arena_bytes(), own_arena(middle));
  Executor b(small, cpu(), {.share = &a});
  EXPECT_EQ(b.arena_bytes(), own_arena(middle));
  const Samples few(5), many(300);
  run(a, few);
  const std::vector<float> before = floats(a.parameters()[0].grad);
  Executor c(large, cpu(), {.share = &b});
  EXPECT_EQ(a.arena_bytes(), own_arena(large));
  // All of them work in the larger arena.
  run(c, many);
  const SoftmaxReference expected(many, floats(a.parameters()[0].value), floats(a.parameters()[1].value));
  expect_near(floats(c.parameters()[0].grad), expected.weight_gradient, 1e-5);
  run(b, few);
  EXPECT_EQ(floats(b.parameters()[0].grad), before);
  run(a, few);
  EXPECT_EQ(floats(a.parameters()[0].grad), before);
}

TEST(ExecutorSharing, ParametersAreTheSame) {
  HandModel model = softmax(), other = softmax({.batch = 8});
  Executor a(model, cpu(), {.seed = 3});
  Executor b(other, cpu(), {.seed = 99, .share = &a});
  EXPECT_EQ(floats(b.parameters()[0].value), floats(a.parameters()[0].value));
  b.parameters()[1].value += 1.0f;
  EXPECT_EQ(floats(a.parameters()[1].value), std::vector<float>(10, 1.0f));
}

// Training alternately through two programs equals training through one.
void train_alternately(bool plain_weight) {
  HandModel model = softmax(), other = softmax({.batch = 16, .plain_weight = plain_weight});
  Executor alone(model, cpu(), {.seed = 3}), a(model, cpu(), {.seed = 3});
  Executor b(other, cpu(), {.share = &a});
  for (uint32_t step = 0; step < 6; ++step) {
    const Samples samples(step % 2 == 0 ? 30 : 13, step + 1);
    Executor& net = step % 2 == 0 ? a : b;
    run(alone, samples);
    run(net, samples);
    for (Parameter& p : alone.parameters()) p.value -= 0.1f * p.grad;
    for (Parameter& p : net.parameters()) p.value -= 0.1f * p.grad;
  }
  EXPECT_EQ(floats(a.parameters()[0].value), floats(alone.parameters()[0].value));
  EXPECT_EQ(floats(b.parameters()[1].value), floats(alone.parameters()[1].value));
}

TEST(ExecutorSharing, TrainedAlternately) { train_alternately(false); }
TEST(ExecutorSharing, TrainedAlternatelyInTwoLayouts) { train_alternately(true); }

TEST(ExecutorSharing, TheOptimizersStateToo) {
  HandModel model = softmax(), other = softmax({.batch = 16, .plain_weight = true});
  Executor alone(model, cpu(), {.seed = 3}), a(model, cpu(), {.seed = 3});
  Executor b(other, cpu(), {.share = &a});
  // The model's counter wants `step` to be the number of runs before, so a and b take turns by halves.
  for (uint32_t step = 0; step < 4; ++step) {
    const Samples samples(13, step + 1);
    for (Executor* net : {&alone, &a}) {
      (*net)["image"] = samples.images();
      (*net)["label"] = samples.labels();
      net->step();
    }
    b["image"] = samples.images();
    b["label"] = samples.labels();
    b.forward();
    const SoftmaxReference expected(samples, floats(alone.parameters()[0].value), floats(alone.parameters()[1].value));
    expect_near(floats(b["probability"]), expected.probability, 1e-6);
  }
  for (size_t i = 0; i < alone.state().size() - 1; ++i) EXPECT_EQ(floats(b.state()[i].value), floats(alone.state()[i].value)) << i;
}

TEST(ExecutorSharing, InitialisedAnewInTwoLayouts) {
  HandModel model = softmax(), other = softmax({.plain_weight = true});
  Executor a(model, cpu(), {.seed = 3});
  Executor b(other, cpu(), {.share = &a});
  Executor expected(model, cpu(), {.seed = 8});
  b.initialise(8);
  EXPECT_EQ(floats(a.parameters()[0].value), floats(expected.parameters()[0].value));
}

// The scratch memory of copies between layouts is everybody's, the error of one of them is not.
TEST(ExecutorSharing, ACopyThatFailedHarmsNoLaterOne) {
  HandModel model = softmax(), other = softmax({.plain_weight = true});
  Executor a(model, cpu(), {.seed = 3});
  Executor b(other, cpu(), {.share = &a});
  const Samples samples(6);
  b["image"] = samples.images();
  const std::string lost = "take: index 5 at {0} is outside of an axis of 1";
  a.parameters()[0].value = take(NDArray::zeros({1, 64}), NDArray::full({10}, 5, i32));
  b.forward();
  EXPECT_EQ(message_of([&] { floats(b["probability"]); }), lost);
  a.recover();
  b.recover();
  a.parameters()[0].value = NDArray::zeros({10, 64});
  b.forward();
  for (float p : floats(b["probability"])) EXPECT_NEAR(p, 0.1f, 1e-6f);
}

TEST(ExecutorSharing, ATensorOfTheNewOneAloneIsInitialised) {
  HandModel model = softmax({.weight = "other.weight"}), other = softmax();
  Executor a(model, cpu(), {.seed = 3});
  a.parameters()[1].value += 2.0f;
  Executor b(other, cpu(), {.seed = 8, .share = &a});
  Executor expected(other, cpu(), {.seed = 8});
  EXPECT_EQ(floats(b.parameters()[0].value), floats(expected.parameters()[0].value));
  EXPECT_EQ(floats(b.parameters()[1].value), std::vector<float>(10, 2.0f));
}

TEST(ExecutorSharing, TheOthersMayGo) {
  HandModel model = softmax();
  auto a = std::make_unique<Executor>(model, cpu(), ExecutorOptions{.seed = 3});
  Executor b(model, cpu(), {.share = a.get()});
  const std::vector<float> weight = floats(a->parameters()[0].value);
  const Samples samples(4);
  run(*a, samples);
  a.reset();
  run(b, samples);
  EXPECT_EQ(floats(b.parameters()[0].value), weight);
  expect_near(floats(b.parameters()[0].grad), SoftmaxReference(samples, weight, std::vector<float>(10, 0)).weight_gradient, 1e-6);
}

}  // namespace
}  // namespace mxc
