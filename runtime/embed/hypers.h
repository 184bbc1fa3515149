// The scalars behind hyper-parameters, of the types that a Plan has for them.
#pragma once

#include <stddef.h>

#include "runtime/core/hyper_range.h"
#include "runtime/embed/context.h"

namespace mxc::embed {

inline void write_integer(plan::DType dtype, void* address, int64_t value) {
  int32_t low = static_cast<int32_t>(value);
  if (dtype == plan::DType::i64) __builtin_memcpy(address, &value, sizeof value);
  if (dtype == plan::DType::i32) __builtin_memcpy(address, &low, sizeof low);
}

inline void write_hyper(plan::DType dtype, void* address, double value) {
  float narrow = static_cast<float>(value);
  if (dtype == plan::DType::f32) __builtin_memcpy(address, &narrow, sizeof narrow);
  else if (dtype == plan::DType::f64) __builtin_memcpy(address, &value, sizeof value);
  else write_integer(dtype, address, static_cast<int64_t>(value));
}

inline double read_hyper(plan::DType dtype, const void* address) {
  float narrow = 0;
  double wide = 0;
  int64_t integer = 0;
  int32_t small = 0;
  switch (dtype) {
    case plan::DType::f32: return __builtin_memcpy(&narrow, address, sizeof narrow), narrow;
    case plan::DType::f64: return __builtin_memcpy(&wide, address, sizeof wide), wide;
    case plan::DType::i64: return __builtin_memcpy(&integer, address, sizeof integer), static_cast<double>(integer);
    case plan::DType::i32: return __builtin_memcpy(&small, address, sizeof small), small;
    default: return 0;
  }
}

// True for those that the library counts or is told by functions of their own.
inline bool is_internal_hyper(const char* name) { return core::same_text(name, "step") || core::same_text(name, "seed"); }

}  // namespace mxc::embed
