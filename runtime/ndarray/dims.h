// Dims: extents or strides of up to plan::kMaxRank axes, without an allocation.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "runtime/core/plan.h"

namespace mxc::ndarray {

class Dims {
 public:
  Dims() = default;
  // Requires: at most kMaxRank values.
  Dims(std::initializer_list<int64_t> values) { append(values.begin(), values.end()); }
  Dims(const std::vector<int64_t>& values) { append(values.data(), values.data() + values.size()); }
  Dims(const Dims& other) { append(other.begin(), other.end()); }
  Dims& operator=(const Dims& other) {
    if (this == &other) return *this;
    size_ = 0;
    append(other.begin(), other.end());
    return *this;
  }

  int size() const { return size_; }
  int64_t& operator[](int i) { return values_[i]; }
  int64_t operator[](int i) const { return values_[i]; }
  int64_t* begin() { return values_; }
  int64_t* end() { return values_ + size_; }
  const int64_t* begin() const { return values_; }
  const int64_t* end() const { return values_ + size_; }
  int64_t back() const { return values_[size_ - 1]; }

  void push_back(int64_t value) { values_[size_++] = value; }
  void pop_back() { --size_; }
  void insert(int at, int64_t value) {
    ++size_;
    for (int i = size_ - 1; i > at; --i) values_[i] = values_[i - 1];
    values_[at] = value;
  }
  void erase(int at) {
    --size_;
    for (int i = at; i < size_; ++i) values_[i] = values_[i + 1];
  }
  void resize(int size, int64_t value) {
    for (int i = size_; i < size; ++i) values_[i] = value;
    size_ = size;
  }

  bool operator==(const Dims& other) const {
    if (size_ != other.size_) return false;
    for (int i = 0; i < size_; ++i) {
      if (values_[i] != other.values_[i]) return false;
    }
    return true;
  }
  std::vector<int64_t> vector() const { return {begin(), end()}; }

 private:
  void append(const int64_t* first, const int64_t* last) {
    for (; first != last; ++first) values_[size_++] = *first;
  }

  int64_t values_[plan::kMaxRank];  // [0, size_) are meant
  int size_ = 0;
};

// Product of the extents.
inline int64_t count(const Dims& shape) {
  int64_t product = 1;
  for (int64_t extent : shape) product *= extent;
  return product;
}

// Strides of a row-major array without gaps, in elements.
inline Dims row_major(const Dims& shape) {
  Dims strides;
  strides.resize(shape.size(), 1);
  for (int axis = shape.size() - 2; axis >= 0; --axis) strides[axis] = strides[axis + 1] * shape[axis + 1];
  return strides;
}

// Are these the strides of a row-major array without gaps? Axes of extent 1 may have any; so may all if an extent is 0.
bool is_row_major(const Dims& shape, const Dims& strides);

// Makes `shape` the shape that both broadcast to. False: they do not.
bool broadcast(Dims* shape, const Dims& other);

// Strides of an array of shape `own` within the shape `joint` that it broadcasts to: 0 along axes that it is repeated along.
Dims spread_strides(const Dims& own, const Dims& strides, const Dims& joint);

// "{2, 3}".
std::string text(const Dims& dims);

}  // namespace mxc::ndarray
