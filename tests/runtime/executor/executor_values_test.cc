// Forward runs, values in and out, monitors, hyper-parameters: against plain loops in double.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/engine/engine.h"
#include "tests/runtime/executor/executor_models.h"

namespace mxc {
namespace {

using namespace mxc::test;

std::vector<float> value_of(Executor& net, const std::string& name) {
  for (Parameter& p : net.parameters()) {
    if (p.name == name) return floats(p.value);
  }
  ADD_FAILURE() << name;
  return {};
}

SoftmaxReference reference(Executor& net, const Samples& samples) {
  return SoftmaxReference(samples, value_of(net, "dense0.weight"), value_of(net, "dense0.bias"));
}

TEST(ExecutorValues, ForwardOfAnyNumberOfSamples) {
  HandModel model = softmax();
  Executor net(model, cpu(), {.seed = 3});
  for (int64_t n : {32, 1, 7}) {
    const Samples samples(n, static_cast<uint32_t>(n));
    net["image"] = samples.images();
    net.forward();
    const NDArray probability = net["probability"];
    EXPECT_EQ(probability.shape(), (Extents{n, 10}));
    expect_near(floats(probability), reference(net, samples).probability, 1e-6);
    expect_near(floats(net.output("probability")), reference(net, samples).probability, 1e-6);
  }
}

TEST(ExecutorValues, EvaluationGivesLossAndMetrics) {
  HandModel model = softmax();
  Executor net(model);
  const Samples samples(20);
  net["image"] = samples.images();
  net["label"] = samples.labels();
  net.evaluate();
  const SoftmaxReference expected = reference(net, samples);
  EXPECT_NEAR(net.loss().item<float>(), expected.loss, 1e-5);
  EXPECT_NEAR(net.metric("accuracy").item<float>(), expected.accuracy, 1e-6);
  EXPECT_EQ(net.steps(), 0);
}

TEST(ExecutorValues, ALossStaysWhenTheNextRunComes) {
  HandModel model = softmax();
  Executor net(model);
  std::vector<NDArray> losses;
  std::vector<double> expected;
  for (uint32_t seed = 1; seed <= 3; ++seed) {
    const Samples samples(5, seed);
    net["image"] = samples.images();
    net["label"] = samples.labels();
    net.evaluate();
    losses.push_back(net.loss());
    expected.push_back(reference(net, samples).loss);
  }
  for (size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i].item<float>(), expected[i], 1e-5);
}

TEST(ExecutorValues, ReportsThatAreFunctionsOfMeans) {
  HandModel model = softmax({.error_rate = true});
  Executor net(model);
  const Samples samples(30);
  net["image"] = samples.images();
  net["label"] = samples.labels();
  net.evaluate();
  EXPECT_NEAR(net.metric("errors").item<float>(), 1 - reference(net, samples).accuracy, 1e-6);
  EXPECT_EQ(net.inputs().size(), 2u);
}

TEST(ExecutorValues, InputsAreReadBackAndWrittenInPlace) {
  HandModel model = softmax();
  Executor net(model);
  EXPECT_TRUE(net["image"].empty());
  const Samples samples(4);
  net["image"] = samples.images();
  EXPECT_EQ(net["image"].shape(), (Extents{4, 1, 8, 8}));
  net["image"] *= 2.0f;
  std::vector<float> twice = samples.image;
  for (float& value : twice) value *= 2;
  EXPECT_EQ(floats(net["image"]), twice);
  // A part of an array, in another order, and the input itself.
  NDArray both = NDArray::from(samples.image, {2, 2, 8, 8});
  net["image"] = both.slice(1, 1, 2);
  std::vector<float> second(samples.image.begin() + 64, samples.image.begin() + 128);
  const std::vector<float> got = floats(net["image"]);
  EXPECT_EQ(std::vector<float>(got.begin(), got.begin() + 64), second);
  NDArray last = net["image"].slice(0, 1, 2);
  const std::vector<float> expected = floats(last);
  net["image"] = last;
  EXPECT_EQ(floats(net["image"]), expected);
  EXPECT_EQ(net["image"].shape(), (Extents{1, 1, 8, 8}));
}

TEST(ExecutorValues, AnInputHasTheValueOfTheAssignment) {
  HandModel model = softmax();
  Executor net(model);
  NDArray image = NDArray::zeros({2, 1, 8, 8});
  net["image"] = image;
  image += 1.0f;
  EXPECT_EQ(floats(net["image"]), std::vector<float>(128, 0.0f));
}

TEST(ExecutorValues, WhatItIs) {
  HandModel model = softmax();
  Executor net(model, cpu());
  EXPECT_EQ(net.name(), "softmax");
  EXPECT_EQ(net.batch(), 32);
  EXPECT_EQ(net.device(), cpu());
  EXPECT_EQ(net.outputs(), std::vector<std::string>{"probability"});
  const std::vector<Field> inputs = net.inputs();
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[0].name, "image");
  EXPECT_EQ(inputs[0].shape, (Extents{1, 8, 8}));
  EXPECT_EQ(inputs[1].name, "label");
  EXPECT_EQ(inputs[1].dtype, i32);
  EXPECT_EQ(inputs[1].classes, 10);
  std::vector<std::string> names;
  for (const Parameter& p : net.state()) names.push_back(p.name);
  EXPECT_EQ(names, (std::vector<std::string>{"dense0.weight/momentum", "dense0.bias/momentum", "counter"}));
}

TEST(ExecutorValues, InitialValuesAreAFunctionOfTheSeed) {
  HandModel model = softmax();
  Executor a(model, cpu(), {.seed = 5}), b(model, cpu(), {.seed = 5}), c(model, cpu(), {.seed = 6});
  EXPECT_EQ(value_of(a, "dense0.weight"), value_of(b, "dense0.weight"));
  EXPECT_NE(value_of(a, "dense0.weight"), value_of(c, "dense0.weight"));
  for (Parameter& p : a.parameters()) p.value += 1.0f;
  a.initialise(6);
  EXPECT_EQ(value_of(a, "dense0.weight"), value_of(c, "dense0.weight"));
  EXPECT_EQ(value_of(a, "dense0.bias"), std::vector<float>(10, 0.0f));
}

// An output as in inference and the same as in training are one: a handle shows what the last run of either left, for as many samples as
// there were when it was taken.
TEST(ExecutorValues, AHandleShowsTheLastRun) {
  HandModel model = softmax();
  Executor net(model, cpu(), {.seed = 3});
  const Samples first(4, 1), second(4, 2), third(6, 3);
  net["image"] = first.images();
  net["label"] = first.labels();
  net.forward();
  const NDArray probability = net["probability"];
  expect_near(floats(probability), reference(net, first).probability, 1e-6);
  net["image"] = second.images();
  net.forward(true);
  expect_near(floats(probability), reference(net, second).probability, 1e-6);
  EXPECT_EQ(floats(probability), floats(net["probability"]));
  net["image"] = third.images();
  net["label"] = third.labels();
  net.forward_backward();
  std::vector<double> of_four = reference(net, third).probability;
  of_four.resize(40);
  expect_near(floats(probability), of_four, 1e-6);
  net["image"] = first.images();
  net.forward();
  expect_near(floats(probability), reference(net, first).probability, 1e-6);
}

// Monitors what the pattern names, in the order in which it is shown.
void collect(Executor& net, const char* pattern, std::vector<std::string>& names, std::vector<NDArray>& values) {
  net.monitor(pattern, [&](const std::string& name, const NDArray& value) {
    names.push_back(name);
    values.push_back(value);
  });
}

TEST(ExecutorValues, MonitorsSeeInputsParametersAndGradientsByNamesOfTheirOwn) {
  HandModel model = softmax();
  Executor net(model);
  const Samples samples(6);
  net["image"] = samples.images();
  net["label"] = samples.labels();
  std::vector<std::string> names;
  std::vector<NDArray> values;
  collect(net, "*", names, values);
  const std::vector<float> weight = value_of(net, "dense0.weight");
  net.forward_backward();
  const auto seen = [&](const std::string& name) {
    const auto found = std::find(names.begin(), names.end(), name);
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
    return found == names.end() ? std::vector<float>() : floats(values[static_cast<size_t>(found - names.begin())]);
  };
  EXPECT_EQ(seen("image"), samples.image);
  EXPECT_EQ(seen("dense0.weight"), weight);
  EXPECT_EQ(seen("dense0.weight.gradient"), floats(net.gradient("dense0.weight")));
  EXPECT_EQ(seen("image.gradient"), floats(net.gradient("image")));
  EXPECT_EQ(std::count(names.begin(), names.end(), "label"), 1);
  // A step shows the parameter as it is after it.
  names.clear();
  values.clear();
  net.step();
  EXPECT_EQ(seen("dense0.weight"), value_of(net, "dense0.weight"));
  EXPECT_NE(seen("dense0.weight"), weight);
}

TEST(ExecutorValues, MonitorsSeeCopiesInOrder) {
  HandModel model = softmax();
  Executor net(model);
  const Samples samples(6);
  net["image"] = samples.images();
  net["label"] = samples.labels();
  std::vector<std::string> names;
  std::vector<NDArray> values;
  collect(net, "*o*", names, values);
  net.forward_backward();
  EXPECT_EQ(names, (std::vector<std::string>{"probability", "loss", "error"}));
  ASSERT_EQ(values.size(), 3u);
  EXPECT_EQ(values[0].shape(), (Extents{6, 10}));
  expect_near(floats(values[0]), reference(net, samples).probability, 1e-6);
  net.monitor("*o*", nullptr);
  net.forward_backward();
  EXPECT_EQ(names.size(), 3u);
}

TEST(ExecutorValues, HyperParameters) {
  HandModel model = softmax();
  Executor net(model);
  EXPECT_FLOAT_EQ(static_cast<float>(net.hyper("lr")), 0.05f);
  const Samples samples(8);
  net["image"] = samples.images();
  net["label"] = samples.labels();
  net.set_hyper("lr", 0);
  const std::vector<float> before = value_of(net, "dense0.weight");
  net.step();
  EXPECT_EQ(value_of(net, "dense0.weight"), before);
  net.set_hyper("lr", 0.5);
  net.step();
  EXPECT_NE(value_of(net, "dense0.weight"), before);
}

TEST(ExecutorValues, TheSerialEngineGivesTheSameBits) {
  HandModel model = softmax();
  auto serial = engine::Engine::create({.naive = true});
  ASSERT_TRUE(serial.ok());
  Executor usual(model, cpu(), {.seed = 2}), alone(model, cpu(), {.seed = 2, .engine = serial->get()});
  const Samples samples(17);
  for (Executor* net : {&usual, &alone}) {
    for (int step = 0; step < 3; ++step) {
      (*net)["image"] = samples.images();
      (*net)["label"] = samples.labels();
      net->forward_backward();
      for (Parameter& p : net->parameters()) p.value -= 0.1f * p.grad;
      net->step();
    }
  }
  EXPECT_EQ(value_of(alone, "dense0.weight"), value_of(usual, "dense0.weight"));
}

TEST(ExecutorValues, ItsArraysLiveOnWithoutIt) {
  HandModel model = softmax();
  NDArray probability;
  const Samples samples(3);
  std::vector<double> expected;
  {
    Executor net(model);
    net["image"] = samples.images();
    expected = reference(net, samples).probability;
    net.forward();
    probability = net["probability"];
  }  // with the run still queued, perhaps
  expect_near(floats(probability), expected, 1e-6);
}

}  // namespace
}  // namespace mxc
