// A run that fails harms no later one: neither if somebody has read its error nor if not, neither if it is over when the next is queued nor
// if all wait for its data still. And what tells of it.
#include <gtest/gtest.h>

#include <future>
#include <ostream>

#include "runtime/ndarray/array.h"
#include "tests/runtime/executor/executor_models.h"

namespace mxc {
namespace {

using namespace mxc::test;

constexpr char kLost[] = "lose: the data are lost";

// An array of the shape of `like` whose operation fails, at once or, if there is a gate, when that opens.
NDArray lost(const NDArray& like, std::shared_future<void> gate = {}) {
  NDArray array = NDArray::zeros(like.shape(), like.dtype());
  ndarray::View view = ndarray::view_of(array);
  ndarray::begin_write(*view.chunk);
  view.chunk->engine->push({.name = "lose", .lane = engine::Lane::io}, {}, {view.chunk->variable}, [gate]() -> absl::Status {
    if (gate.valid()) gate.wait();
    return absl::DataLossError("the data are lost");
  });
  return array;
}

// What there is to try: a run, and whether imperative code then updates the parameters by the gradients.
enum class Run { forward, evaluate, forward_backward, update, step };

struct Case {
  Run run;
  bool late;    // the failed run still waits for its data when the next ones are queued
  bool labels;  // the labels are lost, not the pictures
};

void PrintTo(const Case& c, std::ostream* out) { *out << "run " << static_cast<int>(c.run) << (c.late ? ", late" : "") << (c.labels ? ", labels" : ""); }

class Recovery : public testing::TestWithParam<Case> {
 protected:
  void run(Executor& net) const {
    switch (GetParam().run) {
      case Run::forward: return net.forward();
      case Run::evaluate: return net.evaluate();
      case Run::forward_backward: return net.forward_backward();
      case Run::update:
        net.forward_backward();
        for (Parameter& p : net.parameters()) p.value -= 0.1f * p.grad;
        return;
      case Run::step: return net.step();
    }
  }
  static void assign(Executor& net, const Samples& samples) {
    net["image"] = samples.images();
    net["label"] = samples.labels();
  }
  // All that a run has left: the result, gradients, parameters and state.
  static std::vector<std::vector<float>> left_by(Executor& net, bool outputs) {
    std::vector<std::vector<float>> all;
    if (outputs) all.push_back(floats(net["probability"]));
    for (Parameter& p : net.parameters()) {
      all.push_back(floats(p.value));
      all.push_back(floats(p.grad));
    }
    for (size_t i = 0; i < 2; ++i) all.push_back(floats(net.state()[i].value));
    return all;
  }
};

TEST_P(Recovery, TheNextRunIsAsIfNothingHadBeen) {
  const bool outputs = GetParam().run == Run::forward || GetParam().run == Run::forward_backward || GetParam().run == Run::update;
  HandModel model = softmax();
  const Samples samples(5);
  Executor expected(model, cpu(), {.seed = 7});
  assign(expected, samples);
  for (int i = 0; i < 3; ++i) run(expected);
  Executor net(model, cpu(), {.seed = 7});
  assign(net, samples);
  std::promise<void> open;
  const std::shared_future<void> gate = open.get_future().share();
  const char* input = GetParam().labels ? "label" : "image";
  net[input] = lost(net[input], GetParam().late ? gate : std::shared_future<void>());
  run(net);
  assign(net, samples);
  for (int i = 0; i < 3; ++i) run(net);
  open.set_value();
  EXPECT_EQ(left_by(net, outputs), left_by(expected, outputs));
  net.wait();
}

TEST_P(Recovery, WhoReadsTheFailedRunIsTold) {
  if (GetParam().labels && GetParam().run == Run::forward) return;  // which does not read them
  HandModel model = softmax();
  Executor net(model, cpu(), {.seed = 7});
  assign(net, Samples(5));
  const std::vector<float> before = floats(net.parameters()[0].value);
  std::promise<void> open;
  const char* input = GetParam().labels ? "label" : "image";
  net[input] = lost(net[input], GetParam().late ? open.get_future().share() : std::shared_future<void>());
  run(net);
  const NDArray result = GetParam().run == Run::forward ? net["probability"].copy() : net.loss();
  const NDArray parameter = net.parameters()[0].value.copy();
  const bool changes = GetParam().run == Run::update || GetParam().run == Run::step;
  open.set_value();
  EXPECT_EQ(message_of([&] { result.wait(); }), kLost);
  EXPECT_EQ(message_of([&] { net.wait(); }), kLost);
  EXPECT_EQ(message_of([&] { parameter.wait(); }), changes ? kLost : "nothing was thrown");
  if (GetParam().run == Run::forward_backward) EXPECT_EQ(message_of([&] { net.gradient("image").wait(); }), kLost);
  // It was not changed.
  net.recover();
  EXPECT_EQ(floats(net.parameters()[0].value), before);
}

INSTANTIATE_TEST_SUITE_P(Runs, Recovery,
                         testing::Values(Case{Run::forward, false, false}, Case{Run::forward, true, false}, Case{Run::evaluate, false, true},
                                         Case{Run::evaluate, true, true}, Case{Run::forward_backward, false, true},
                                         Case{Run::forward_backward, true, true}, Case{Run::forward_backward, true, false},
                                         Case{Run::update, false, true}, Case{Run::update, true, true}, Case{Run::update, true, false},
                                         Case{Run::step, false, true}, Case{Run::step, true, true}, Case{Run::step, true, false}));

struct Net {
  HandModel model = softmax();
  Executor net{model, cpu(), {.seed = 4}};
  Samples samples{6};
  std::promise<void> open;
  std::shared_future<void> gate = open.get_future().share();

  Net() { assign(); }
  void assign() {
    net["image"] = samples.images();
    net["label"] = samples.labels();
  }
};

TEST(ExecutorRecovery, RecoverNeedsNoWait) {
  Net n;
  n.net["image"] = lost(n.net["image"], n.gate);
  n.net.step();
  n.net.recover();
  // The parameters are as they were, and may be read and written before the failed step is over.
  NDArray weight = n.net.parameters()[0].value.copy();
  n.net.parameters()[0].value += 1.0f;
  NDArray more = n.net.parameters()[0].value.copy();
  n.open.set_value();
  EXPECT_TRUE(all(more == weight + 1.0f).item<bool>());
}

TEST(ExecutorRecovery, AnAssignmentThatFailedStaysUntilSomebodyHasBeenTold) {
  Net n;
  const std::vector<float> before = floats(n.net.parameters()[0].value);
  n.net.parameters()[0].value = lost(n.net.parameters()[0].value);
  for (int i = 0; i < 3; ++i) {
    n.net.forward_backward();
    for (Parameter& p : n.net.parameters()) p.value -= 0.0f * p.grad;
  }
  EXPECT_EQ(message_of([&] { n.net["probability"].wait(); }), kLost);
  n.net.forward_backward();  // told
  EXPECT_EQ(floats(n.net.parameters()[0].value), before);
  expect_near(floats(n.net["probability"]), SoftmaxReference(n.samples, before, floats(n.net.parameters()[1].value)).probability, 1e-6);
}

TEST(ExecutorRecovery, WritingAllOfAParameterMakesItGood) {
  Net n;
  n.net.parameters()[0].value = lost(n.net.parameters()[0].value, n.gate);
  n.net.parameters()[0].value = NDArray::zeros({10, 64});
  n.net.forward();
  n.open.set_value();
  for (float p : floats(n.net["probability"])) EXPECT_NEAR(p, 0.1f, 1e-6f);
}

TEST(ExecutorRecovery, ASumOfGradientsGoesOn) {
  Net n;
  n.net.request("dense0.weight", GradientRequest::add);
  n.net.forward_backward();
  const std::vector<float> once = floats(n.net.gradient("dense0.weight"));
  n.net["label"] = lost(n.net["label"], n.gate);
  n.net.forward_backward();
  NDArray told = n.net.gradient("dense0.weight").copy();
  n.assign();
  n.net.forward_backward();
  n.open.set_value();
  EXPECT_EQ(message_of([&] { told.wait(); }), kLost);
  std::vector<double> twice(once.begin(), once.end());
  for (double& value : twice) value *= 2;
  expect_near(floats(n.net.gradient("dense0.weight")), twice, 1e-6);
}

// b's parameter is a copy in another layout.
TEST(ExecutorRecovery, WhoSharesIsNotHarmed) {
  for (const bool other_layout : {false, true}) {
    HandModel model = softmax(), other = softmax({.plain_weight = other_layout});
    Executor a(model, cpu(), {.seed = 3});
    Executor b(other, cpu(), {.share = &a});
    const Samples samples(6);
    const SoftmaxReference expected(samples, floats(a.parameters()[0].value), floats(a.parameters()[1].value));
    std::promise<void> open;
    for (Executor* net : {&a, &b}) {
      (*net)["image"] = samples.images();
      (*net)["label"] = samples.labels();
    }
    Executor &fails = other_layout ? b : a, &works = other_layout ? a : b;
    works.forward();  // the first run of a kind waits for those before it
    fails["label"] = lost(fails["label"], open.get_future().share());
    fails.step();
    works.forward();
    works.forward();
    open.set_value();
    expect_near(floats(works["probability"]), expected.probability, 1e-6);
    fails["label"] = samples.labels();
    fails.forward();
    expect_near(floats(fails["probability"]), expected.probability, 1e-6);
  }
}

TEST(ExecutorRecovery, BackwardOfAFailedForwardFails) {
  Net n;
  n.net["label"] = lost(n.net["label"]);
  n.net.forward(true);
  n.net.backward();
  EXPECT_EQ(message_of([&] { n.net.gradient("dense0.weight").wait(); }), kLost);
}

}  // namespace
}  // namespace mxc
