// Parameters: what training learns. Operations make and name their own ("conv2d0.weight"); `Param` says how they differ from the
// default, and a symbol made by `parameter` or by another operation can be shared.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "mxc/symbol.h"

namespace mxc {

// How a parameter's elements begin. Random ones are functions of the training seed and the parameter's name.
// fan_in and fan_out are those of the operation that uses it.
struct Init {
  std::string kind;  // empty: the operation's default
  std::vector<double> args;
  operator Param() const;
};

inline Init zeros() { return {"zeros", {}}; }
inline Init ones() { return {"ones", {}}; }
inline Init constant(double value) { return {"constant", {value}}; }
inline Init uniform(double low, double high) { return {"uniform", {low, high}}; }
inline Init normal(double mean, double stddev) { return {"normal", {mean, stddev}}; }
// Uniform in +-sqrt(6 / (fan_in + fan_out)).
inline Init xavier() { return {"xavier", {}}; }
// Normal with standard deviation sqrt(2 / fan_in).
inline Init msra() { return {"msra", {}}; }
// Normal with standard deviation sqrt(1 / fan_in).
inline Init lecun() { return {"lecun", {}}; }

// What a training step does with a parameter's gradient: replaces the last one, adds to it, or does not compute it (frozen).
enum class GradientRequest { write, add, none };

// `.weight = {.init = normal(0, 0.01), .lr_mult = 2}`, `.weight = xavier()`, `.weight = shared`.
struct Param {
  Init init = {};
  double lr_mult = 1;  // times the learning rate
  double wd_mult = 1;  // times the weight decay
  GradientRequest gradient = GradientRequest::write;
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
