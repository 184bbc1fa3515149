// See softmax_model.h. The weight is kept blocked along its input axis, element (class c, pixel p) at [p / 16][c][p % 16], unless it is
// to be plain.
#include "tests/runtime/train/softmax_model.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "runtime/core/philox.h"

namespace mxc::test {
namespace {

constexpr int64_t kP = kModelPixels, kC = kModelClasses, kBlock = 16;

template <bool plain>
int64_t weight_at(int64_t c, int64_t p) {
  return plain ? c * kP + p : (p / kBlock * kC + c) * kBlock + p % kBlock;
}

std::atomic<int64_t> weight_calls{0}, bias_calls{0}, image_calls{0};

// weight, seed
template <bool plain>
void init_weight(void* const* args, int64_t, int64_t begin, int64_t end) {
  float* weight = static_cast<float*>(args[0]);
  const core::PhiloxKey key = core::philox_key(static_cast<uint64_t>(*static_cast<const int64_t*>(args[1])), 0, 0, 0);
  for (int64_t c = begin; c < end; ++c) {
    for (int64_t p = 0; p < kP; ++p) {
      weight[weight_at<plain>(c, p)] =
          (core::philox_uniform(core::philox_draw32(key, 0, static_cast<uint64_t>(c * kP + p))) - 0.5f) * 0.1f;
    }
  }
}

// image, weight, bias, probability: a cell is a sample
template <bool plain>
void forward(void* const* args, int64_t, int64_t begin, int64_t end) {
  const float *image = static_cast<float*>(args[0]), *weight = static_cast<float*>(args[1]), *bias = static_cast<float*>(args[2]);
  float* probability = static_cast<float*>(args[3]);
  for (int64_t i = begin; i < end; ++i) {
    float* out = probability + i * kC;
    for (int64_t c = 0; c < kC; ++c) {
      out[c] = bias[c];
      for (int64_t p = 0; p < kP; ++p) out[c] += image[i * kP + p] * weight[weight_at<plain>(c, p)];
    }
    const float largest = *std::max_element(out, out + kC);
    float sum = 0;
    for (int64_t c = 0; c < kC; ++c) sum += out[c] = std::exp(out[c] - largest);
    for (int64_t c = 0; c < kC; ++c) out[c] /= sum;
  }
}

// probability, label, loss, accuracy
void measure(void* const* args, int64_t n, int64_t, int64_t) {
  const float* probability = static_cast<float*>(args[0]);
  const int32_t* label = static_cast<int32_t*>(args[1]);
  float loss = 0, right = 0;
  for (int64_t i = 0; i < n; ++i) {
    const float* p = probability + i * kC;
    loss -= std::log(std::max(p[label[i]], 1e-30f));
    right += std::max_element(p, p + kC) - p == label[i] ? 1.0f : 0.0f;
  }
  *static_cast<float*>(args[2]) = loss / static_cast<float>(n);
  *static_cast<float*>(args[3]) = right / static_cast<float>(n);
}

// probability, label, image, weight, bias, weight's momentum, bias's momentum, lr, momentum: a cell is a class
template <bool plain>
void update(void* const* args, int64_t n, int64_t begin, int64_t end) {
  const float *probability = static_cast<float*>(args[0]), *image = static_cast<float*>(args[2]);
  const int32_t* label = static_cast<int32_t*>(args[1]);
  float *weight = static_cast<float*>(args[3]), *bias = static_cast<float*>(args[4]);
  float *weight_slot = static_cast<float*>(args[5]), *bias_slot = static_cast<float*>(args[6]);
  const float lr = *static_cast<float*>(args[7]), momentum = *static_cast<float*>(args[8]);
  const auto step = [&](float* value, float* slot, float gradient) {
    *slot = momentum * *slot + gradient / static_cast<float>(n);
    *value -= lr * *slot;
  };
  for (int64_t c = begin; c < end; ++c) {
    for (int64_t p = 0; p <= kP; ++p) {
      float gradient = 0;
      for (int64_t i = 0; i < n; ++i) {
        const float error = probability[i * kC + c] - (label[i] == c ? 1.0f : 0.0f);
        gradient += p < kP ? error * image[i * kP + p] : error;
      }
      if (p < kP) step(&weight[weight_at<plain>(c, p)], &weight_slot[weight_at<plain>(c, p)], gradient);
      if (p == kP) step(&bias[c], &bias_slot[c], gradient);
    }
  }
}

// probability, label, error: the gradient of the loss by the logits; a cell is a sample
void loss_gradient(void* const* args, int64_t n, int64_t begin, int64_t end) {
  const float* probability = static_cast<float*>(args[0]);
  const int32_t* label = static_cast<int32_t*>(args[1]);
  float* error = static_cast<float*>(args[2]);
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t c = 0; c < kC; ++c) error[i * kC + c] = (probability[i * kC + c] - (label[i] == c ? 1.0f : 0.0f)) / static_cast<float>(n);
  }
}

// error, image, gradient of the weight, in the weight's layout
template <bool plain>
void weight_gradient(void* const* args, int64_t n, int64_t, int64_t) {
  const float *error = static_cast<float*>(args[0]), *image = static_cast<float*>(args[1]);
  float* gradient = static_cast<float*>(args[2]);
  ++weight_calls;
  for (int64_t c = 0; c < kC; ++c) {
    for (int64_t p = 0; p < kP; ++p) {
      float sum = 0;
      for (int64_t i = 0; i < n; ++i) sum += error[i * kC + c] * image[i * kP + p];
      gradient[weight_at<plain>(c, p)] = sum;
    }
  }
}

// error, gradient of the bias
void bias_gradient(void* const* args, int64_t n, int64_t, int64_t) {
  const float* error = static_cast<float*>(args[0]);
  float* gradient = static_cast<float*>(args[1]);
  ++bias_calls;
  for (int64_t c = 0; c < kC; ++c) {
    gradient[c] = 0;
    for (int64_t i = 0; i < n; ++i) gradient[c] += error[i * kC + c];
  }
}

// error, weight, gradient of the image
template <bool plain>
void image_gradient(void* const* args, int64_t n, int64_t, int64_t) {
  const float *error = static_cast<float*>(args[0]), *weight = static_cast<float*>(args[1]);
  float* gradient = static_cast<float*>(args[2]);
  ++image_calls;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t p = 0; p < kP; ++p) {
      gradient[i * kP + p] = 0;
      for (int64_t c = 0; c < kC; ++c) gradient[i * kP + p] += error[i * kC + c] * weight[weight_at<plain>(c, p)];
    }
  }
}

// counter, step: counts runs, and goes wrong for good if the host's step is not the number of runs before
void count(void* const* args, int64_t, int64_t, int64_t) {
  int64_t* counter = static_cast<int64_t*>(args[0]);
  const int64_t step = *static_cast<const int64_t*>(args[1]);
  *counter = *counter == step ? step + 1 : -1000000;
}

// mean, errors
void errors(void* const* args, int64_t, int64_t, int64_t) {
  *static_cast<float*>(args[1]) = 1 - *static_cast<const float*>(args[0]);
}

// The kernels for one of the two layouts of the weight.
struct Kernels {
  plan::Kernel init_weight, forward, update, weight_gradient, image_gradient;
};
template <bool plain>
Kernels kernels_for() {
  return {init_weight<plain>, forward<plain>, update<plain>, weight_gradient<plain>, image_gradient<plain>};
}

struct Shared {
  uint32_t image, label, weight, bias;
};

BufferSpec weight_spec(const ModelChoices& choices) {
  if (choices.plain_weight) return {.name = choices.weight, .dims = {kC, kP}};
  return {.name = choices.weight, .dims = {kC, kP}, .order = {1, 0}, .block_axis = 1, .block = kBlock};
}

// Items: forward, measure | error, gradients of weight, bias and image.
void add_forward_backward(PlanBuilder& b, const Shared& s, const ModelChoices& choices, const Kernels& kernels) {
  using plan::GraphKind, plan::OutputKind, plan::Role, plan::Space;
  const auto result = [&](BufferSpec spec) {
    spec.space = Space::io;
    spec.role = Role::output;
    return b.buffer(spec);
  };
  const uint32_t probability = result({.name = "probability", .dims = {choices.batch, kC}, .batch_axis = 0});
  const uint32_t loss = result({.name = "loss"}), accuracy = result({.name = "accuracy"});
  const uint32_t weight_grad = result(weight_spec(choices)), bias_grad = result({.name = "dense0.bias", .dims = {kC}});
  const uint32_t image_grad = result({.name = "image", .dims = {choices.batch, 1, 8, 8}, .batch_axis = 0});
  const uint32_t error = b.buffer({.name = "error", .dims = {choices.batch, kC}, .batch_axis = 0});
  b.begin_graph("forward_backward", GraphKind::user, choices.batch);
  b.input(s.image);
  b.input(s.label);
  b.step({.name = "forward", .kernel = kernels.forward, .args = {in(s.image), in(s.weight), in(s.bias), out(probability)}, .batch_unit = 1});
  b.step({.name = "measure", .kernel = measure, .args = {in(probability), in(s.label), out(loss), out(accuracy)}});
  b.begin_backward();
  b.step({.name = "error", .kernel = loss_gradient, .args = {in(probability), in(s.label), out(error)}, .batch_unit = 1});
  b.step({.name = "weight gradient", .kernel = kernels.weight_gradient, .args = {in(error), in(s.image), out(weight_grad)}});
  b.step({.name = "bias gradient", .kernel = bias_gradient, .args = {in(error), out(bias_grad)}});
  b.step({.name = "image gradient", .kernel = kernels.image_gradient, .args = {in(error), in(s.weight), out(image_grad)}});
  b.output(loss, OutputKind::loss);
  b.output(accuracy, OutputKind::metric);
  b.output(probability);
  for (uint32_t gradient : {weight_grad, bias_grad, image_grad}) b.output(gradient, OutputKind::gradient);
  b.end_graph();
}

}  // namespace

GradientCalls gradient_calls() { return {weight_calls, bias_calls, image_calls}; }

BuiltPlan softmax_plan(const ModelChoices& choices) {
  using plan::DType, plan::GraphKind, plan::OutputKind, plan::Role, plan::Space;
  const Kernels kernels = choices.plain_weight ? kernels_for<true>() : kernels_for<false>();
  PlanBuilder b;
  b.fact("model", choices.name);
  b.fact("source", "softmax.cpp");
  b.fact("optimizer", "sgd");
  b.fact("hash", "0123abcd");
  for (const auto& [key, value] : choices.facts) b.fact(key, value);
  BufferSpec of_weight = weight_spec(choices);
  const uint32_t weight = b.parameter(of_weight);
  const uint32_t bias = b.parameter({.name = "dense0.bias", .dims = {choices.classes_in_file}});
  of_weight.name += "/momentum";
  const uint32_t weight_slot = b.optimizer_slot(of_weight);
  const uint32_t bias_slot = b.optimizer_slot({.name = "dense0.bias/momentum", .dims = {choices.classes_in_file}});
  const uint32_t counter =
      b.buffer({.name = "counter", .dims = {1}, .dtype = DType::i64, .space = Space::persistent, .role = Role::state});
  const uint32_t lr = b.hyper("lr", 0.05), momentum = b.hyper("momentum", 0.9);
  const uint32_t step = b.hyper("step", 0, DType::i64), seed = b.hyper("seed", 0, DType::i64);

  const uint32_t image =
      b.buffer({.name = "image", .dims = {choices.batch, 1, 8, 8}, .space = Space::io, .role = Role::input, .batch_axis = 0});
  const uint32_t label = b.buffer({.name = "label",
                                   .dims = {choices.batch},
                                   .dtype = DType::i32,
                                   .space = Space::io,
                                   .role = Role::input,
                                   .batch_axis = 0,
                                   .upper_bound = kC});
  const uint32_t probability =
      b.buffer({.name = "probability", .dims = {choices.batch, kC}, .space = Space::io, .role = Role::output, .batch_axis = 0});
  const uint32_t loss = b.buffer({.name = "loss", .space = Space::io, .role = Role::output});
  const uint32_t accuracy = b.buffer({.name = "accuracy", .space = Space::io, .role = Role::output});

  b.begin_graph("init", GraphKind::init, 0);
  b.step({.name = "init", .kernel = kernels.init_weight, .args = {out(weight), in(seed)}, .cells = kC});
  b.end_graph();

  for (const GraphKind kind : {GraphKind::train, GraphKind::eval, GraphKind::infer}) {
    b.begin_graph(kind == GraphKind::train ? "train" : kind == GraphKind::eval ? "eval" : "infer", kind, choices.batch);
    const uint32_t first = b.step(
        {.name = "forward", .kernel = kernels.forward, .args = {in(image), in(weight), in(bias), out(probability)}, .batch_unit = 1});
    b.input(image);
    if (kind == GraphKind::infer) b.output(probability, OutputKind::output, choices.output);
    if (kind != GraphKind::infer) {
      b.input(label);
      b.step(
          {.name = "measure", .kernel = measure, .args = {in(probability), in(label), out(loss), out(accuracy)}, .deps = {first}});
      b.output(loss, OutputKind::loss);
      b.output(accuracy, OutputKind::metric);
      if (choices.error_rate) b.output(accuracy, OutputKind::metric, "errors#0");
    }
    if (kind == GraphKind::train) {
      b.step({.name = "update",
              .kernel = kernels.update,
              .args = {in(probability), in(label), in(image), inout(weight), inout(bias), inout(weight_slot), inout(bias_slot),
                       in(lr), in(momentum)},
              .deps = {first},
              .cells = kC});
      b.step({.name = "count", .kernel = count, .args = {inout(counter), in(step)}});
    }
    b.end_graph();
  }
  if (choices.forward_backward) add_forward_backward(b, {image, label, weight, bias}, choices, kernels);
  if (choices.error_rate) {
    const uint32_t mean = b.buffer({.name = "errors#0", .space = Space::io, .role = Role::input});
    const uint32_t result = b.buffer({.name = "errors", .space = Space::io, .role = Role::output});
    b.begin_graph("report", GraphKind::user, 0);
    b.step({.name = "errors", .kernel = errors, .args = {in(mean), out(result)}});
    b.input(mean);
    b.output(result, OutputKind::metric);
    b.end_graph();
  }
  return b.build();
}

}  // namespace mxc::test
