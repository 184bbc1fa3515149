// What the tests of NDArray's kernels share: elements of any type seen as doubles, calls of kernels, random numbers.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "runtime/core/plan_view.h"
#include "runtime/ndarray/kernels.h"

namespace mxc::ndarray {

using plan::DType;

inline constexpr DType kAll[] = {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8, DType::u8, DType::i32, DType::i64, DType::boolean};
inline constexpr DType kFloats[] = {DType::f32, DType::f64, DType::f16, DType::bf16};
inline constexpr DType kIntegers[] = {DType::i8, DType::u8, DType::i32, DType::i64};
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

inline bool is_float(DType d) { return d <= DType::bf16; }
// The distance from 1 to the next number.
inline double epsilon(DType d) { return d == DType::f64 ? 0x1p-52 : d == DType::f16 ? 0x1p-10 : d == DType::bf16 ? 0x1p-7 : 0x1p-23; }

// A float of `exponent` and `mantissa` bits, as IEEE 754 defines it.
inline double decode(uint32_t bits, int exponent, int mantissa) {
  int bias = (1 << (exponent - 1)) - 1, e = bits >> mantissa & ((1 << exponent) - 1);
  double fraction = std::ldexp(bits & ((1u << mantissa) - 1), -mantissa), sign = bits >> (exponent + mantissa) ? -1 : 1;
  if (e == (1 << exponent) - 1) return fraction == 0 ? sign * kInfinity : kNaN;
  return sign * (e == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, e - bias));
}
inline double decode16(DType d, uint16_t bits) { return d == DType::f16 ? decode(bits, 5, 10) : decode(bits, 8, 7); }

struct Count {
  size_t n;
};

// Elements of any type in memory, seen as doubles (exact for the numbers used here).
class Elements {
 public:
  Elements(DType dtype, Count count) : dtype_(dtype), size_(count.n), bytes_(count.n * core::dtype_bytes(dtype)) {}
  Elements(DType dtype, std::vector<double> values) : Elements(dtype, Count{values.size()}) {
    for (size_t i = 0; i < values.size(); ++i) set(i, values[i]);
  }
  void* data() { return bytes_.data(); }
  size_t size() const { return size_; }
  DType dtype() const { return dtype_; }
  bool same(const Elements& other) const { return bytes_ == other.bytes_; }

  double operator[](size_t i) const {
    switch (dtype_) {
      case DType::f32: return as<float>(i);
      case DType::f64: return as<double>(i);
      case DType::f16:
      case DType::bf16: return decode16(dtype_, as<uint16_t>(i));
      case DType::i8: return as<int8_t>(i);
      case DType::u8: return as<uint8_t>(i);
      case DType::i32: return as<int32_t>(i);
      case DType::i64: return static_cast<double>(as<int64_t>(i));
      case DType::boolean: return as<uint8_t>(i);
    }
    return 0;
  }
  // The nearest number; of 16-bit floats by search, so that no conversion of ours is trusted.
  void set(size_t i, double v) {
    switch (dtype_) {
      case DType::f32: return put(i, static_cast<float>(v));
      case DType::f64: return put(i, v);
      case DType::f16:
      case DType::bf16: return put(i, nearest16(v));
      case DType::i8: return put(i, static_cast<int8_t>(v));
      case DType::u8: return put(i, static_cast<uint8_t>(v));
      case DType::i32: return put(i, static_cast<int32_t>(v));
      case DType::i64: return put(i, static_cast<int64_t>(v));
      case DType::boolean: return put(i, static_cast<uint8_t>(v != 0));
    }
  }
  template <typename T>
  T as(size_t i) const {
    T v;
    std::memcpy(&v, bytes_.data() + i * sizeof(T), sizeof(T));
    return v;
  }
  template <typename T>
  void put(size_t i, T v) {
    std::memcpy(bytes_.data() + i * sizeof(T), &v, sizeof(T));
  }

 private:
  uint16_t nearest16(double v) const {
    uint16_t sign = std::signbit(v) ? 0x8000 : 0, low = 0, high = dtype_ == DType::f16 ? 0x7c00 : 0x7f80;
    if (std::isnan(v)) return high | 1;
    v = std::fabs(v);
    while (low + 1 < high) (decode16(dtype_, (low + high) / 2) <= v ? low : high) = (low + high) / 2;
    return sign | (v - decode16(dtype_, low) <= decode16(dtype_, high) - v ? low : high);
  }

  DType dtype_;
  size_t size_;
  std::vector<char> bytes_;
};

inline Elements run(const Kernel& k, std::vector<Elements*> operands, int64_t n, size_t results) {
  Elements result(k.result, Count{results});
  std::vector<void*> args;
  for (Elements* e : operands) args.push_back(e->data());
  args.push_back(result.data());
  k.run(args.data(), n, 0, cells(k, n));
  return result;
}

inline void expect_near(double got, double want, double tolerance, const std::string& what) {
  if (std::isnan(want)) EXPECT_TRUE(std::isnan(got)) << what << ": " << got;
  else if (std::isinf(want)) EXPECT_EQ(got, want) << what;
  else EXPECT_LE(std::fabs(got - want), tolerance) << what << ": " << got << ", not " << want;
}

inline std::vector<double> draw(size_t n, double low, double high, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> values(n);
  for (double& v : values) v = low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
  return values;
}

}  // namespace mxc::ndarray
