// The bits of f16 and bf16 numbers: in a program's text, printed, and on the wire. (Arrays of them are computed by the kernels.) By integers and without
// branches, since what they make of _Float16 where the processor has none takes five times as long.
#pragma once

#include <bit>
#include <cstdint>

#include "runtime/core/plan.h"

namespace mxc::ndarray {

// Rounded to nearest, ties to even.
inline uint16_t f16_bits(double value) { return std::bit_cast<uint16_t>(static_cast<_Float16>(value)); }
inline uint16_t f16_bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), size = bits & 0x7fffffff;
  const uint32_t normal = ((size + 0xfff + (size >> 13 & 1)) >> 13) - (112 << 10);
  const uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(size) + 0.5f) - 0x3f000000;  // 0.5f has their unit in its last place
  uint32_t rounded = size < 0x38800000 ? subnormal : normal;
  rounded = size >= 0x477ff000 ? 0x7c00 : rounded;                                // 65520 and more: infinite
  rounded = size > 0x7f800000 ? 0x7e00 | (size >> 13 & 0x3ff) : rounded;  // a NaN stays one
  return static_cast<uint16_t>((bits >> 16 & 0x8000) | rounded);
}
inline uint16_t bf16_bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (value != value) return static_cast<uint16_t>(bits >> 16 | 0x40);  // stays a NaN
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline float f16_value(uint16_t bits) {
  const uint32_t size = bits & 0x7fffu, sign = (bits & 0x8000u) << 16;
  const uint32_t normal = (size << 13) + (112 << 23);
  const uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(0x38800000 | (size << 13)) - 0x1p-14f);
  uint32_t wide = size < 0x400 ? subnormal : normal;
  wide = size >= 0x7c00 ? 0x7f800000 | (size << 13) : wide;
  return std::bit_cast<float>(wide | sign);
}
inline float bf16_value(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

// The nearest number of a floating type.
inline double rounded(double value, plan::DType dtype) {
  switch (dtype) {
    case plan::DType::f32: return static_cast<float>(value);
    case plan::DType::f16: return f16_value(f16_bits(value));
    case plan::DType::bf16: return bf16_value(bf16_bits(static_cast<float>(value)));
    default: return value;
  }
}

}  // namespace mxc::ndarray
