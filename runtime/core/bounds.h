// Whether integers lie within what kernels, which index by them without looking, need. Freestanding, as plan_sizes.h.
#pragma once

#include "runtime/core/plan.h"

namespace mxc::core {

template <typename T>
int64_t first_outside(const void* values, int64_t count, int64_t bound) {
  const T* numbers = static_cast<const T*>(values);
  for (int64_t i = 0; i < count; ++i) {
    if (static_cast<int64_t>(numbers[i]) < 0 || static_cast<int64_t>(numbers[i]) >= bound) return i;
  }
  return -1;
}

// Position of the first of `count` values outside [0, bound), or -1 if there is none or they are no integers.
inline int64_t first_outside(plan::DType dtype, const void* values, int64_t count, int64_t bound) {
  switch (dtype) {
    case plan::DType::i8: return first_outside<int8_t>(values, count, bound);
    case plan::DType::u8: return first_outside<uint8_t>(values, count, bound);
    case plan::DType::i32: return first_outside<int32_t>(values, count, bound);
    case plan::DType::i64: return first_outside<int64_t>(values, count, bound);
    default: return -1;
  }
}

}  // namespace mxc::core
