// Hand-written programs for the tests of executors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mxc/executor.h"
#include "tests/runtime/error_line.h"
#include "tests/runtime/plan_builder.h"
#include "tests/runtime/train/softmax_model.h"

namespace mxc::test {

// A plan as a model that an executor takes.
class HandModel {
 public:
  HandModel(std::string name, BuiltPlan built) : name_(std::move(name)), built_(std::move(built)), program_(built_.program()) {}
  HandModel(HandModel&&) = default;
  // A program in a binary lives for ever; runs of this one that are still queued end before it does. What failed has been looked at.
  ~HandModel() {
    try {
      wait_all();
    } catch (const Error&) {
    }
  }
  operator Model() const { return {name_.c_str(), &program_}; }
  const plan::Program& program() const { return program_; }

 private:
  std::string name_;
  BuiltPlan built_;
  plan::Program program_;
};

// Softmax regression (softmax_model.h) with a graph forward_backward.
HandModel softmax(ModelChoices choices = {});

// y[i][j] = x[i][j] * w[j]: x {n <= 8, 2}, w {2}, y, and "y.head_gradient", the head gradient of y. Gradients: w, x. Choices that make the
// latter an input like others: a loss, the mean of y[..][0]; another name for y.
struct ScaleChoices {
  bool loss = false;
  const char* output = "y";
};
HandModel scale(ScaleChoices choices = {});

// The message, without places, if `call` throws an Error.
template <typename Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return without_call(error.message);
  }
  return "nothing was thrown";
}

// Row-major numbers of an array.
inline std::vector<float> floats(const NDArray& array) { return array.to_vector<float>(); }

// n pictures of 64 pixels, and their labels: a function of the seed.
struct Samples {
  std::vector<float> image;
  std::vector<int32_t> label;
  int64_t n;

  explicit Samples(int64_t n, uint32_t seed = 1);
  NDArray images() const { return NDArray::from(image, {n, 1, 8, 8}); }
  NDArray labels() const { return NDArray::from(label, {n}); }
};

// What the softmax model computes, in double by plain loops.
struct SoftmaxReference {
  std::vector<double> probability, weight_gradient, bias_gradient, image_gradient;
  double loss, accuracy;

  SoftmaxReference(const Samples& samples, const std::vector<float>& weight, const std::vector<float>& bias);
};

void expect_near(const std::vector<float>& got, const std::vector<double>& expected, double tolerance);

}  // namespace mxc::test
