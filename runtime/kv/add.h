// Sums of contributions: elements as they lie in memory.
#pragma once

#include <span>

#include "runtime/core/plan.h"

namespace mxc::kv {

// into += other, element by element; integers wrap around. Requires: one size; f32, f64, i32 or i64.
void add_into(plan::DType dtype, std::span<char> into, std::span<const char> other);

}  // namespace mxc::kv
