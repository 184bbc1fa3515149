// See executor_models.h.
#include "tests/runtime/executor/executor_models.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "runtime/core/philox.h"

namespace mxc::test {
namespace {

// x, w, y
void scale_forward(void* const* args, int64_t, int64_t begin, int64_t end) {
  const float *x = static_cast<float*>(args[0]), *w = static_cast<float*>(args[1]);
  float* y = static_cast<float*>(args[2]);
  for (int64_t i = begin * 2; i < end * 2; ++i) y[i] = x[i] * w[i % 2];
}
// head, x, gradient of w
void scale_weight(void* const* args, int64_t n, int64_t, int64_t) {
  const float *head = static_cast<float*>(args[0]), *x = static_cast<float*>(args[1]);
  float* gradient = static_cast<float*>(args[2]);
  gradient[0] = gradient[1] = 0;
  for (int64_t i = 0; i < n * 2; ++i) gradient[i % 2] += head[i] * x[i];
}
// head, w, gradient of x
void scale_input(void* const* args, int64_t n, int64_t, int64_t) {
  const float *head = static_cast<float*>(args[0]), *w = static_cast<float*>(args[1]);
  float* gradient = static_cast<float*>(args[2]);
  for (int64_t i = 0; i < n * 2; ++i) gradient[i] = head[i] * w[i % 2];
}

// y, loss: the mean of the first column.
void scale_loss(void* const* args, int64_t n, int64_t, int64_t) {
  const float* y = static_cast<float*>(args[0]);
  float* loss = static_cast<float*>(args[1]);
  *loss = 0;
  for (int64_t i = 0; i < n; ++i) *loss += y[2 * i] / static_cast<float>(n);
}

}  // namespace

HandModel softmax(ModelChoices choices) {
  choices.forward_backward = true;
  return HandModel(choices.name, softmax_plan(choices));
}

HandModel scale(ScaleChoices choices) {
  using plan::GraphKind, plan::OutputKind, plan::Role, plan::Space;
  PlanBuilder b;
  const BufferSpec rows = {.name = "x", .dims = {8, 2}, .space = Space::io, .role = Role::input, .batch_axis = 0};
  const auto named = [&](BufferSpec spec, const char* name, Role role) {
    spec.name = name;
    spec.role = role;
    return b.buffer(spec);
  };
  const uint32_t w = b.parameter({.name = "w", .dims = {2}});
  const uint32_t x = b.buffer(rows), head = named(rows, "y.head_gradient", Role::input);
  const uint32_t y = named(rows, choices.output, Role::output), y_infer = named(rows, choices.output, Role::output);
  const uint32_t w_grad = b.buffer({.name = "w", .dims = {2}, .space = Space::io, .role = Role::output});
  const uint32_t x_grad = named(rows, "x", Role::output);
  const uint32_t loss = choices.loss ? b.buffer({.name = "loss", .dims = {}, .space = Space::io, .role = Role::output}) : 0;
  b.begin_graph("infer", GraphKind::infer, 8);
  b.input(x);
  b.step({.name = "scale", .kernel = scale_forward, .args = {in(x), in(w), out(y_infer)}, .batch_unit = 1});
  b.output(y_infer);
  b.end_graph();
  b.begin_graph("forward_backward", GraphKind::user, 8);
  b.input(x);
  b.input(head);
  b.step({.name = "scale", .kernel = scale_forward, .args = {in(x), in(w), out(y)}, .batch_unit = 1});
  if (choices.loss) b.step({.name = "loss", .kernel = scale_loss, .args = {in(y), out(loss)}});
  b.begin_backward();
  b.step({.name = "w gradient", .kernel = scale_weight, .args = {in(head), in(x), out(w_grad)}});
  b.step({.name = "x gradient", .kernel = scale_input, .args = {in(head), in(w), out(x_grad)}});
  b.output(y);
  if (choices.loss) b.output(loss, OutputKind::loss);
  b.output(w_grad, OutputKind::gradient);
  b.output(x_grad, OutputKind::gradient);
  b.end_graph();
  return HandModel("scale", b.build());
}

Samples::Samples(int64_t n, uint32_t seed) : image(static_cast<size_t>(n * kModelPixels)), label(static_cast<size_t>(n)), n(n) {
  const core::PhiloxKey key = core::philox_key(seed, 0, 0, 77);
  for (size_t i = 0; i < image.size(); ++i) image[i] = core::philox_uniform(core::philox_draw32(key, 0, i));
  for (size_t i = 0; i < label.size(); ++i) label[i] = static_cast<int32_t>(core::philox_draw32(key, 1, i) % kModelClasses);
}

SoftmaxReference::SoftmaxReference(const Samples& samples, const std::vector<float>& weight, const std::vector<float>& bias)
    : weight_gradient(kModelClasses * kModelPixels, 0), bias_gradient(kModelClasses, 0), loss(0), accuracy(0) {
  const double n = static_cast<double>(samples.n);
  for (int64_t i = 0; i < samples.n; ++i) {
    const float* image = &samples.image[static_cast<size_t>(i * kModelPixels)];
    const int32_t label = samples.label[static_cast<size_t>(i)];
    std::vector<double> p(kModelClasses);
    double sum = 0;
    for (int64_t c = 0; c < kModelClasses; ++c) {
      double logit = bias[static_cast<size_t>(c)];
      for (int64_t k = 0; k < kModelPixels; ++k) logit += double{image[k]} * weight[static_cast<size_t>(c * kModelPixels + k)];
      sum += p[static_cast<size_t>(c)] = std::exp(logit);
    }
    for (double& value : p) value /= sum;
    loss -= std::log(p[static_cast<size_t>(label)]) / n;
    accuracy += std::max_element(p.begin(), p.end()) - p.begin() == label ? 1 / n : 0;
    std::vector<double> by_pixel(kModelPixels, 0);
    for (int64_t c = 0; c < kModelClasses; ++c) {
      const double error = (p[static_cast<size_t>(c)] - (c == label ? 1 : 0)) / n;
      bias_gradient[static_cast<size_t>(c)] += error;
      for (int64_t k = 0; k < kModelPixels; ++k) {
        weight_gradient[static_cast<size_t>(c * kModelPixels + k)] += error * image[k];
        by_pixel[static_cast<size_t>(k)] += error * weight[static_cast<size_t>(c * kModelPixels + k)];
      }
    }
    probability.insert(probability.end(), p.begin(), p.end());
    image_gradient.insert(image_gradient.end(), by_pixel.begin(), by_pixel.end());
  }
}

void expect_near(const std::vector<float>& got, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], tolerance) << i;
}

}  // namespace mxc::test
