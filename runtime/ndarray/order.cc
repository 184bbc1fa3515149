// Sorting along an axis. Elements are compared, none is computed. NaN come last, whichever the direction; equals keep their order.
#include <algorithm>
#include <memory>
#include <numeric>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/ndarray/along_axis.h"
#include "runtime/ndarray/small_float.h"

namespace mxc::ndarray {
namespace {

// Elements whose C++ type does not order them.
struct F16 {
  uint16_t bits;
  operator float() const { return f16_value(bits); }
};
struct BF16 {
  uint16_t bits;
  operator float() const { return bf16_value(bits); }
};

template <typename T>
bool is_nan(T value) {
  if constexpr (std::is_integral_v<T>) {
    return false;
  } else {
    const auto number = static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(value);
    return number != number;
  }
}

template <typename T>
bool before(T a, T b, bool descending) {
  if (is_nan(a) || is_nan(b)) return !is_nan(a) && is_nan(b);
  return descending ? b < a : a < b;
}

// The first k places of a row in order, and their elements.
template <typename T>
void order_row(const T* row, int64_t length, int64_t k, bool descending, std::vector<int64_t>* places, T* values, int64_t* indices) {
  places->resize(static_cast<size_t>(length));
  std::iota(places->begin(), places->end(), 0);
  auto earlier = [&](int64_t a, int64_t b) {
    if (before(row[a], row[b], descending)) return true;
    return !before(row[b], row[a], descending) && a < b;
  };
  if (k < length) {
    std::partial_sort(places->begin(), places->begin() + k, places->end(), earlier);
  } else {
    std::sort(places->begin(), places->end(), earlier);
  }
  for (int64_t i = 0; i < k; ++i) {
    if (values != nullptr) values[i] = row[(*places)[i]];
    if (indices != nullptr) indices[i] = (*places)[i];
  }
}

struct Order {
  plan::DType dtype;
  int64_t count, length, k;
  bool descending;
  ChunkRef in, values, indices;  // of the results, those that are wanted
  int64_t at;

  template <typename T>
  void run_as() {
    const T* from = reinterpret_cast<const T*>(static_cast<const char*>(in->memory) + at);
    T* to = values ? static_cast<T*>(values->memory) : nullptr;
    int64_t* places = indices ? static_cast<int64_t*>(indices->memory) : nullptr;
    std::vector<int64_t> scratch;
    for (int64_t i = 0; i < count; ++i) {
      order_row(from + i * length, length, k, descending, &scratch, to == nullptr ? nullptr : to + i * k,
                places == nullptr ? nullptr : places + i * k);
    }
  }

  absl::Status run() {
    if (in->memory == nullptr) return absl::FailedPreconditionError("the operand was never computed");
    if (values && values->ensure() == nullptr) return no_memory(*values);
    if (indices && indices->ensure() == nullptr) return no_memory(*indices);
    switch (dtype) {
      case plan::DType::f32: run_as<float>(); break;
      case plan::DType::f64: run_as<double>(); break;
      case plan::DType::f16: run_as<F16>(); break;
      case plan::DType::bf16: run_as<BF16>(); break;
      case plan::DType::i8: run_as<int8_t>(); break;
      case plan::DType::u8:
      case plan::DType::boolean: run_as<uint8_t>(); break;
      case plan::DType::i32: run_as<int32_t>(); break;
      case plan::DType::i64: run_as<int64_t>(); break;
    }
    return absl::OkStatus();
  }
};

constexpr int64_t kAll = -1;  // as k: the whole axis

// Results that are not wanted stay empty.
ValuesAndIndices order(const char* name, const NDArray& x, int64_t axis, int64_t k, bool descending, bool wants_values, bool wants_indices,
                       Here here) {
  const Rows rows = rows_along(name, x, axis, here);
  const Array& from = *Access::peek(rows.array);
  if (k == kAll && std::string_view(name) != "topk") k = rows.length;
  if (k < 0 || k > rows.length) fail(name, absl::StrCat("k is ", k, ", but axis ", rows.axis, " has ", rows.length, " elements"), here);
  Dims shape = from.shape;
  shape[shape.size() - 1] = k;
  auto body = std::make_unique<Order>(Order{from.dtype, rows.count, rows.length, k, descending, from.chunk, {}, {}, from.offset * bytes_of(from.dtype)});
  ValuesAndIndices out;
  auto make = [&](plan::DType dtype, NDArray* result) {
    *result = new_result(from, dtype, shape, here);
    begin_write(*Access::peek(*result)->chunk);
    return Access::peek(*result)->chunk;
  };
  if (wants_values) body->values = make(from.dtype, &out.values);
  if (wants_indices) body->indices = make(plan::DType::i64, &out.indices);
  const ChunkRef first = wants_values ? body->values : body->indices, second = wants_indices ? body->indices : first;
  if (count(shape) > 0) {
    first->engine->push({.name = name, .cheap = from.elements <= 64}, {from.chunk->variable}, {first->variable, second->variable},
                        [body = std::move(body)] { return body->run(); });
  }
  if (wants_values) out.values = axis_back(name, out.values, rows.axis, here);
  if (wants_indices) out.indices = axis_back(name, out.indices, rows.axis, here);
  return out;
}

}  // namespace
}  // namespace mxc::ndarray

namespace mxc {

using ndarray::kAll;
using ndarray::order;

NDArray sort(NDArray x, Sorting how, Here here) {
  return order("sort", x, how.axis, kAll, how.descending, true, false, here).values;
}

NDArray argsort(NDArray x, Sorting how, Here here) {
  return order("argsort", x, how.axis, kAll, how.descending, false, true, here).indices;
}

ValuesAndIndices topk(NDArray x, TopK how, Here here) { return order("topk", x, how.axis, how.k, !how.smallest, true, true, here); }

}  // namespace mxc
