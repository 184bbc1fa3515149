// A small model written by hand: softmax regression on 8x8 pictures with ten classes, trained by SGD with momentum. It has all
// that the trainer deals with: parameters in plain and blocked layout, an optimizer slot, a state buffer, hyper-parameters, and
// init, train, eval and infer graphs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/runtime/plan_builder.h"

namespace mxc::test {

constexpr int64_t kModelBatch = 32;
constexpr int64_t kModelPixels = 64;
constexpr int64_t kModelClasses = 10;

struct ModelChoices {
  const char* name = "softmax";
  int64_t classes_in_file = kModelClasses;  // extent of the parameter `dense0.bias`: another value makes another model
  const char* weight = "dense0.weight";
  const char* output = "probability";
  std::vector<std::pair<std::string, std::string>> facts = {};  // beside the usual ones
  int64_t batch = kModelBatch;
  bool plain_weight = false;      // the weight is kept row-major instead of blocked
  bool forward_backward = false;  // a graph of that name gives loss, accuracy, probability and all gradients
  bool error_rate = false;  // a report graph gives "errors", 1 - the mean of the metric "errors#0", which is the accuracy again
};

// Tensors: dense0.weight {10, 64} stored as {64 / 16, 10, 16}, dense0.bias {10}, dense0.weight/momentum (as the weight),
// dense0.bias/momentum, counter {1} i64 (state: counts the train runs).
BuiltPlan softmax_plan(const ModelChoices& choices = {});

// Calls of the kernels that compute gradients in the graph forward_backward, by any thread since the process began.
struct GradientCalls {
  int64_t weight, bias, image;
};
GradientCalls gradient_calls();

}  // namespace mxc::test
