// NDArray's operations for tests that include MLIR, beside which mxc/ndarray.h cannot stand.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mxc {

// The bytes of an operation's result on f32 numbers. "softmax", "log_softmax", "argmax", "argmin" take one axis (places are i32); "reduce_sum",
// "reduce_mean", "reduce_max", "reduce_min", "reduce_prod", "norm" any.
std::vector<char> callArray(const std::string& op, const std::vector<char>& numbers, const std::vector<int64_t>& dims,
                            const std::vector<int64_t>& axes);

}  // namespace mxc
