// See array_call.h.
#include "tests/compiler/codegen/array_call.h"

#include "mxc/ndarray.h"

namespace mxc {

namespace {

template <typename T>
std::vector<char> bytes(const NDArray& array) {
  const std::vector<T> values = array.to_vector<T>();
  const char* first = reinterpret_cast<const char*>(values.data());
  return {first, first + values.size() * sizeof(T)};
}

}  // namespace

std::vector<char> callArray(const std::string& op, const std::vector<char>& numbers, const std::vector<int64_t>& dims,
                            const std::vector<int64_t>& axes) {
  const float* first = reinterpret_cast<const float*>(numbers.data());
  const NDArray x = NDArray::from(std::vector<float>(first, first + numbers.size() / sizeof(float)), dims);
  if (op == "softmax") return bytes<float>(softmax(x, {axes[0]}));
  if (op == "log_softmax") return bytes<float>(log_softmax(x, {axes[0]}));
  if (op == "argmax") return bytes<int32_t>(argmax(x, {axes[0]}).cast(i32));
  if (op == "argmin") return bytes<int32_t>(argmin(x, {axes[0]}).cast(i32));
  if (op == "reduce_sum") return bytes<float>(sum(x, {.axes = axes}));
  if (op == "reduce_mean") return bytes<float>(mean(x, {.axes = axes}));
  if (op == "reduce_max") return bytes<float>(reduce_max(x, {.axes = axes}));
  if (op == "reduce_min") return bytes<float>(reduce_min(x, {.axes = axes}));
  if (op == "reduce_prod") return bytes<float>(reduce_prod(x, {.axes = axes}));
  if (op == "norm") return bytes<float>(norm(x, {.axes = axes}));
  return {};
}

}  // namespace mxc
