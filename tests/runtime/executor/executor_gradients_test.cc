// Gradients: against plain loops in double and central differences; what is asked for and what is left out.
#include <gtest/gtest.h>

#include "tests/runtime/executor/executor_models.h"

namespace mxc {
namespace {

using namespace mxc::test;

struct Net {
  HandModel model = softmax();
  Executor net{model, cpu(), {.seed = 4}};
  Samples samples{11};

  Net() {
    net["image"] = samples.images();
    net["label"] = samples.labels();
  }
  SoftmaxReference reference() {
    return SoftmaxReference(samples, floats(net.parameters()[0].value), floats(net.parameters()[1].value));
  }
};

TEST(ExecutorGradients, OfParametersAndInputs) {
  Net n;
  n.net.forward_backward();
  const SoftmaxReference expected = n.reference();
  EXPECT_EQ(n.net.parameters()[0].name, "dense0.weight");
  EXPECT_EQ(n.net.parameters()[0].grad.shape(), (Extents{10, 64}));
  expect_near(floats(n.net.parameters()[0].grad), expected.weight_gradient, 1e-6);
  expect_near(floats(n.net.parameters()[1].grad), expected.bias_gradient, 1e-6);
  EXPECT_EQ(n.net.gradient("image").shape(), (Extents{11, 1, 8, 8}));
  expect_near(floats(n.net.gradient("image")), expected.image_gradient, 1e-6);
  EXPECT_NEAR(n.net.loss().item<float>(), expected.loss, 1e-5);
  expect_near(floats(n.net["probability"]), expected.probability, 1e-6);
}

TEST(ExecutorGradients, ForwardAndBackwardApart) {
  Net whole, apart;
  whole.net.forward_backward();
  apart.net.forward(true);
  EXPECT_EQ(floats(apart.net["probability"]), floats(whole.net["probability"]));
  EXPECT_EQ(floats(apart.net.parameters()[1].grad), std::vector<float>(10, 0.0f));
  apart.net.backward();
  EXPECT_EQ(floats(apart.net.parameters()[0].grad), floats(whole.net.parameters()[0].grad));
  EXPECT_EQ(apart.net.steps(), 1);
  EXPECT_EQ(whole.net.steps(), 1);
}

TEST(ExecutorGradients, NoneLeavesOutWhatOnlyItNeeds) {
  Net n;
  n.net.request("dense0.weight", GradientRequest::none);
  n.net.request("image", GradientRequest::none);
  GradientCalls before = gradient_calls();
  n.net.forward_backward();
  n.net.wait();
  GradientCalls after = gradient_calls();
  EXPECT_EQ(after.weight, before.weight);
  EXPECT_EQ(after.image, before.image);
  EXPECT_EQ(after.bias, before.bias + 1);
  expect_near(floats(n.net.parameters()[1].grad), n.reference().bias_gradient, 1e-6);
  EXPECT_EQ(floats(n.net.parameters()[0].grad), std::vector<float>(640, 0.0f));

  n.net.request("dense0.weight", GradientRequest::write);
  n.net.request("dense0.bias", GradientRequest::none);
  n.net.forward_backward();
  n.net.wait();
  EXPECT_EQ(gradient_calls().bias, after.bias);
  expect_near(floats(n.net.parameters()[0].grad), n.reference().weight_gradient, 1e-6);

  n.net.request("dense0.weight", GradientRequest::none);
  n.net.forward_backward();  // nothing is left to do in backward
  n.net.wait();
  EXPECT_EQ(gradient_calls().weight, after.weight + 1);
}

TEST(ExecutorGradients, AddAccumulates) {
  Net n;
  n.net.request("dense0.weight", GradientRequest::add);
  n.net.request("image", GradientRequest::add);
  for (int i = 0; i < 3; ++i) n.net.forward_backward();
  const SoftmaxReference expected = n.reference();
  std::vector<double> thrice = expected.weight_gradient, images = expected.image_gradient;
  for (double& value : thrice) value *= 3;
  for (double& value : images) value *= 3;
  expect_near(floats(n.net.parameters()[0].grad), thrice, 3e-6);
  expect_near(floats(n.net.gradient("image")), images, 3e-6);
  expect_near(floats(n.net.parameters()[1].grad), expected.bias_gradient, 1e-6);
  n.net.parameters()[0].grad = 0.0f;
  n.net.forward_backward();
  expect_near(floats(n.net.parameters()[0].grad), expected.weight_gradient, 1e-6);
}

TEST(ExecutorGradients, HeadGradients) {
  HandModel model = scale();
  Executor net(model);
  net.parameters()[0].value = NDArray::from({2.0f, -3.0f});
  const std::vector<float> x = {1, 2, 3, 4, 5, 6}, head = {0.5, 1, -1, 2, 0, 3};
  net["x"] = NDArray::from(x, {3, 2});
  net.forward(true);
  EXPECT_EQ(floats(net["y"]), (std::vector<float>{2, -6, 6, -12, 10, -18}));
  net.backward({{"y", NDArray::from(head, {3, 2})}});
  EXPECT_EQ(floats(net.parameters()[0].grad), (std::vector<float>{0.5f * 1 - 1 * 3, 1 * 2 + 2 * 4 + 3 * 6}));
  EXPECT_EQ(floats(net.gradient("x")), (std::vector<float>{1, -3, -2, -6, 0, -9}));
}

// A name alone makes no head gradient.
TEST(ExecutorGradients, AnInputThatIsCalledLikeAHeadGradient) {
  for (const ScaleChoices& choices : {ScaleChoices{.loss = true}, ScaleChoices{.output = "z"}}) {
    HandModel model = scale(choices);
    Executor net(model);
    EXPECT_EQ(net.inputs().size(), 2u) << choices.output;
    net.parameters()[0].value = NDArray::from({2.0f, -3.0f});
    net["x"] = NDArray::from(std::vector<float>{1, 2}, {1, 2});
    EXPECT_EQ(message_of([&] { net.forward_backward(); }), "forward_backward: the input 'y.head_gradient' has not been assigned");
    net["y.head_gradient"] = NDArray::from(std::vector<float>{5, 7}, {1, 2});
    net.forward_backward();
    EXPECT_EQ(floats(net.gradient("x")), (std::vector<float>{10, -21}));
    if (choices.loss) EXPECT_EQ(net.loss().item<float>(), 2);
  }
  HandModel without = scale();
  EXPECT_EQ(Executor(without).inputs().size(), 1u);
}

// f(w) = sum of head * y by w, numerically.
TEST(ExecutorGradients, HeadGradientsAgreeWithDifferences) {
  HandModel model = scale();
  Executor net(model);
  net["x"] = NDArray::from(std::vector<float>{1, 2, 3, 4}, {2, 2});
  const NDArray head = NDArray::from(std::vector<float>{0.25f, 1, 2, -1}, {2, 2});
  const auto value = [&](float w0, float w1) {
    net.parameters()[0].value = NDArray::from({w0, w1});
    net.forward();
    double total = 0;
    const std::vector<float> y = floats(net["y"]), h = floats(head);
    for (size_t i = 0; i < y.size(); ++i) total += double{y[i]} * h[i];
    return total;
  };
  const double d0 = (value(1.5f, 1) - value(0.5f, 1)) / 1, d1 = (value(1, 1.5f) - value(1, 0.5f)) / 1;
  net.forward(true);
  net.backward({{"y", head}});
  expect_near(floats(net.parameters()[0].grad), {d0, d1}, 1e-6);
}

}  // namespace
}  // namespace mxc
