// Sums of contributions: elements as they lie in memory.
#pragma once

#include <span>

#include "runtime/core/plan.h"

namespace mxc::kv {

// Whether arrays are added. Of small integers they are not, since sums over a few shards would leave their range unnoticed; of booleans there is no sum.
bool is_added(plan::DType dtype);

// into += other, element by element; integers wrap around. f16 and bf16: the sum of two in f32, rounded to nearest (f32 has more than twice their bits, so it is
// the exact sum rounded once). Every node of the tree (tree.h) is rounded so, in whichever process it is made: therefore sums travel in the type of the
// key. Requires: one size; is_added(dtype).
void add_into(plan::DType dtype, std::span<char> into, std::span<const char> other);
// sum = left + right, the same. `sum` may be one of them.
void add_to(plan::DType dtype, std::span<const char> left, std::span<const char> right, std::span<char> sum);

}  // namespace mxc::kv
