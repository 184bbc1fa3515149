// Element types, and places in the user's source.
#pragma once

#include <source_location>

namespace mxc {

// Element types of tensors. In a model, `f32` is its floating type: `mxc compile --dtype=f64` makes it double everywhere.
enum class DType { f32, f64, i32, i64, u8, boolean, f16, bf16, i8 };
inline constexpr DType f32 = DType::f32, f64 = DType::f64, i32 = DType::i32, i64 = DType::i64, u8 = DType::u8,
                       boolean = DType::boolean, f16 = DType::f16, bf16 = DType::bf16, i8 = DType::i8;

// "f32", "f64", "i32", "i64", "u8", "bool", "f16", "bf16", "i8".
inline const char* to_string(DType dtype) {
  constexpr const char* kNames[] = {"f32", "f64", "i32", "i64", "u8", "bool", "f16", "bf16", "i8"};
  return kNames[static_cast<int>(dtype)];
}

// A place in the user's source. Every function of a program takes one as its last, defaulted argument, for messages.
using Here = std::source_location;

}  // namespace mxc
