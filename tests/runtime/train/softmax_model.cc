// See softmax_model.h. The weight is kept blocked along its input axis: element (class c, pixel p) lies at
// [p / 16][c][p % 16].
#include "tests/runtime/train/softmax_model.h"

#include <algorithm>
#include <cmath>

#include "runtime/core/philox.h"

namespace mxc::test {
namespace {

constexpr int64_t kP = kModelPixels, kC = kModelClasses, kBlock = 16;

int64_t weight_at(int64_t c, int64_t p) { return (p / kBlock * kC + c) * kBlock + p % kBlock; }

// weight, seed
void init_weight(void* const* args, int64_t, int64_t begin, int64_t end) {
  float* weight = static_cast<float*>(args[0]);
  const core::PhiloxKey key = core::philox_key(static_cast<uint64_t>(*static_cast<const int64_t*>(args[1])), 0, 0, 0);
  for (int64_t c = begin; c < end; ++c) {
    for (int64_t p = 0; p < kP; ++p) {
      weight[weight_at(c, p)] =
          (core::philox_uniform(core::philox_draw32(key, 0, static_cast<uint64_t>(c * kP + p))) - 0.5f) * 0.1f;
    }
  }
}

// image, weight, bias, probability: a cell is a sample
void forward(void* const* args, int64_t, int64_t begin, int64_t end) {
  const float *image = static_cast<float*>(args[0]), *weight = static_cast<float*>(args[1]), *bias = static_cast<float*>(args[2]);
  float* probability = static_cast<float*>(args[3]);
  for (int64_t i = begin; i < end; ++i) {
    float* out = probability + i * kC;
    for (int64_t c = 0; c < kC; ++c) {
      out[c] = bias[c];
      for (int64_t p = 0; p < kP; ++p) out[c] += image[i * kP + p] * weight[weight_at(c, p)];
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
      if (p < kP) step(&weight[weight_at(c, p)], &weight_slot[weight_at(c, p)], gradient);
      if (p == kP) step(&bias[c], &bias_slot[c], gradient);
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

}  // namespace

BuiltPlan softmax_plan(const ModelChoices& choices) {
  using plan::DType, plan::GraphKind, plan::OutputKind, plan::Role, plan::Space;
  PlanBuilder b;
  b.fact("model", choices.name);
  b.fact("source", "softmax.cpp");
  b.fact("optimizer", "sgd");
  b.fact("hash", "0123abcd");
  for (const auto& [key, value] : choices.facts) b.fact(key, value);
  const std::string name = choices.weight;
  BufferSpec blocked = {.name = name, .dims = {kC, kP}, .order = {1, 0}, .block_axis = 1, .block = kBlock};
  const uint32_t weight = b.parameter(blocked);
  const uint32_t bias = b.parameter({.name = "dense0.bias", .dims = {choices.classes_in_file}});
  blocked.name = name + "/momentum";
  const uint32_t weight_slot = b.optimizer_slot(blocked);
  const uint32_t bias_slot = b.optimizer_slot({.name = "dense0.bias/momentum", .dims = {choices.classes_in_file}});
  const uint32_t counter =
      b.buffer({.name = "counter", .dims = {1}, .dtype = DType::i64, .space = Space::persistent, .role = Role::state});
  const uint32_t lr = b.hyper("lr", 0.05), momentum = b.hyper("momentum", 0.9);
  const uint32_t step = b.hyper("step", 0, DType::i64), seed = b.hyper("seed", 0, DType::i64);

  const uint32_t image =
      b.buffer({.name = "image", .dims = {kModelBatch, 1, 8, 8}, .space = Space::io, .role = Role::input, .batch_axis = 0});
  const uint32_t label = b.buffer({.name = "label",
                                   .dims = {kModelBatch},
                                   .dtype = DType::i32,
                                   .space = Space::io,
                                   .role = Role::input,
                                   .batch_axis = 0,
                                   .upper_bound = kC});
  const uint32_t probability =
      b.buffer({.name = "probability", .dims = {kModelBatch, kC}, .space = Space::io, .role = Role::output, .batch_axis = 0});
  const uint32_t loss = b.buffer({.name = "loss", .space = Space::io, .role = Role::output});
  const uint32_t accuracy = b.buffer({.name = "accuracy", .space = Space::io, .role = Role::output});

  b.begin_graph("init", GraphKind::init, 0);
  b.step({.name = "init", .kernel = init_weight, .args = {out(weight), in(seed)}, .cells = kC});
  b.end_graph();

  for (const GraphKind kind : {GraphKind::train, GraphKind::eval, GraphKind::infer}) {
    b.begin_graph(kind == GraphKind::train ? "train" : kind == GraphKind::eval ? "eval" : "infer", kind, kModelBatch);
    const uint32_t first = b.step(
        {.name = "forward", .kernel = forward, .args = {in(image), in(weight), in(bias), out(probability)}, .batch_unit = 1});
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
              .kernel = update,
              .args = {in(probability), in(label), in(image), inout(weight), inout(bias), inout(weight_slot), inout(bias_slot),
                       in(lr), in(momentum)},
              .deps = {first},
              .cells = kC});
      b.step({.name = "count", .kernel = count, .args = {inout(counter), in(step)}});
    }
    b.end_graph();
  }
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
