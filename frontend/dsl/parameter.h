// Parameters: what training learns. Operations make and name their own ("conv2d0.weight"); `Param` says how they differ from the
// default, and a symbol made by `parameter` or by another operation can be shared.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "mxc/gradient_request.h"
#include "mxc/symbol.h"

namespace mxc {

// How a parameter's elements begin. Random ones are functions of the training seed and the parameter's name.
// fan_in and fan_out are those of the operation that uses it.
struct Init {
  std::string kind;  // empty: the operation's default
  std::vector<double> args;
  std::string file = {}, tensor = {};  // of from_file
  operator Param() const;
};

inline Init zeros() { return {"zeros", {}}; }
inline Init ones() { return {"ones", {}}; }
inline Init constant(double value) { return {"constant", {value}}; }
inline Init uniform(double low, double high) { return {"uniform", {low, high}}; }
inline Init normal(double mean, double stddev) { return {"normal", {mean, stddev}}; }
// What an initialiser divides by: fan_in, fan_out, or the mean of both.
enum class Fan { in, out, average };
enum class Distribution { uniform, normal };
// Uniform in +-sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010).
inline Init xavier() { return {"xavier", {}}; }
// Uniform in +-sqrt(magnitude / fan), or normal with standard deviation sqrt(magnitude / fan).
inline Init xavier(Distribution distribution, Fan fan, double magnitude = 3) {
  return {"xavier", {static_cast<double>(distribution), static_cast<double>(fan), magnitude}};
}
// Normal with standard deviation sqrt(2 / fan_in) (He et al. 2015); for a leaky ReLU of this slope sqrt(2 / ((1 + slope^2) fan)).
inline Init msra() { return {"msra", {}}; }
inline Init msra(double slope, Fan fan = Fan::in) { return {"msra", {slope, static_cast<double>(fan)}}; }
// Seen as a matrix [first axis, others]: rows, or columns if they are fewer, of length `gain` and orthogonal to each other (Saxe et al.
// 2014), from random normal ones. The time grows with rows^2 columns, on one core.
inline Init orthogonal(double gain = 1) { return {"orthogonal", {gain}}; }
// For [.., .., height, width]: every kernel enlarges bilinearly, for a conv2d_transpose of stride (kernel + 1) / 2 (Long et al. 2015).
inline Init bilinear() { return {"bilinear", {}}; }
// Normal with standard deviation sqrt(1 / fan_in).
inline Init lecun() { return {"lecun", {}}; }

// What a tensor of a file holds, read by the program when a training begins: FILE.npy (NumPy), or the tensor of that name, without a name
// the parameter's own, of FILE.npz or FILE.safetensors. A relative path begins where the program runs. Shape and type must be the
// parameter's.
inline Init from_file(const std::string& file, const std::string& tensor = "") { return {"file", {}, file, tensor}; }

// `.weight = {.init = normal(0, 0.01), .lr_mult = 2}`, `.weight = xavier()`, `.weight = shared`.
struct Param {
  Init init = {};
  double lr_mult = 1;  // times the learning rate
  double wd_mult = 1;  // times the weight decay
  GradientRequest gradient = GradientRequest::write;  // none: frozen
  Symbol symbol = {};  // shared: this parameter instead of a new one
};

// A parameter that an operation may go without: `.bias = false`, `.bias = Param{.init = ones()}`, `.bias = shared`.
class OptionalParam {
 public:
  OptionalParam(bool present) : present_(present) {}
  OptionalParam(Param param) : present_(true), param_(std::move(param)) {}
  OptionalParam(Init init) : present_(true), param_(init) {}
  OptionalParam(Symbol symbol) : present_(true), param_(symbol) {}
  bool present() const { return present_; }
  const Param& param() const { return param_; }

 private:
  bool present_;
  Param param_;
};

inline Symbol::operator Param() const { return Param{.symbol = *this}; }
inline Init::operator Param() const { return Param{.init = *this}; }

}  // namespace mxc
