// The bits of f16 and bf16 numbers, for numbers in a program's text and for printing. (Arrays of them are computed by the kernels.)
#pragma once

#include <bit>
#include <cstdint>

namespace mxc::ndarray {

// Rounded to nearest, ties to even.
inline uint16_t f16_bits(double value) { return std::bit_cast<uint16_t>(static_cast<_Float16>(value)); }
inline uint16_t bf16_bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (value != value) return static_cast<uint16_t>(bits >> 16 | 0x40);  // stays a NaN
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline float f16_value(uint16_t bits) { return static_cast<float>(std::bit_cast<_Float16>(bits)); }
inline float bf16_value(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

}  // namespace mxc::ndarray
