// The small values that a model is written with: sizes, shapes, and attribute values of operations.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "mxc/dtype.h"

namespace mxc {

// One extent of a shape. The batch axis is the one whose extent may be smaller at run time (the last batch of an epoch).
struct Dim {
  int64_t size;
  bool is_batch = false;
  Dim(int64_t size) : size(size) {}
  Dim(int64_t size, bool is_batch) : size(size), is_batch(is_batch) {}
};
using Shape = std::vector<Dim>;

// The batch axis, compiled for up to `size` samples. `mxc compile --dim batch=1` overrides the number.
Dim batch(int64_t size);

// A size that `mxc compile --dim NAME=SIZE` overrides: of an axis, of a number of steps, of whatever the model says with it.
int64_t dim(const std::string& name, int64_t size);

// A height and a width: written `5` or `{5, 3}`.
class Size2 {
 public:
  Size2() = default;
  Size2(int64_t both) : height_(both), width_(both), set_(true) {}
  Size2(int64_t height, int64_t width) : height_(height), width_(width), set_(true) {}
  int64_t height() const { return height_; }
  int64_t width() const { return width_; }
  bool is_set() const { return set_; }

 private:
  int64_t height_ = 0, width_ = 0;
  bool set_ = false;
};

// A list of integers, such as axes or a shape: written `{0, 2}`.
class Ints {
 public:
  Ints() = default;
  Ints(std::initializer_list<int64_t> values) : values_(values), set_(true) {}
  Ints(std::vector<int64_t> values) : values_(std::move(values)), set_(true) {}
  const std::vector<int64_t>& values() const { return values_; }
  bool is_set() const { return set_; }

 private:
  std::vector<int64_t> values_;
  bool set_ = false;
};

// An attribute without a default: an operation made without it is an error at the user's line.
// `Optional` attributes have the same form and may stay unset.
template <class T>
class Attribute {
 public:
  Attribute() = default;
  template <class U>
  requires std::is_convertible_v<U, T> Attribute(U&& value) : value_(std::forward<U>(value)), set_(true) {}
  const T& value() const { return value_; }
  bool is_set() const { return set_; }

 private:
  T value_{};
  bool set_ = false;
};

}  // namespace mxc
