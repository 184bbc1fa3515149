// Making arrays from numbers.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "runtime/engine/default_engine.h"
#include "runtime/ndarray/array.h"
#include "runtime/ndarray/copy.h"
#include "runtime/ndarray/pointwise.h"

namespace mxc {

using namespace ndarray;

NDArray NDArray::full(const Extents& extents, Number value, DType dtype, Here here) {
  const plan::DType type = to_plan(dtype);
  const Dims shape = checked_shape("full", extents, type, here);
  const uint64_t bits = element_bits("full", value, type, here);
  NDArray array = new_result(engine::default_engine(), cpu(), type, shape);
  fill_with(array, bits);
  return array;
}

NDArray NDArray::zeros(const Extents& shape, DType dtype, Here here) { return full(shape, 0, dtype, here); }
NDArray NDArray::ones(const Extents& shape, DType dtype, Here here) { return full(shape, 1, dtype, here); }

NDArray NDArray::arange(Number start, Number end, Number step, DType dtype, Here here) {
  if (step.real == 0 || !std::isfinite(start.real) || !std::isfinite(end.real) || !std::isfinite(step.real)) {
    fail("arange", absl::StrCat("from ", start.real, " to ", end.real, " by ", step.real, " is no range"), here);
  }
  const double length = std::max(0.0, std::ceil((end.real - start.real) / step.real));
  if (length > 0x1p56) fail("arange", absl::StrCat("from ", start.real, " to ", end.real, " by ", step.real, " is too long"), here);
  // The numbers in double (whole ones as such) become elements by the cast that all arrays have.
  const bool whole = start.is_whole && step.is_whole;
  const auto n = static_cast<int64_t>(length);
  if (whole) {
    std::vector<int64_t> values(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) values[i] = start.whole + i * step.whole;
    return from(values, here).cast(dtype, here);
  }
  std::vector<double> values(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) values[i] = start.real + static_cast<double>(i) * step.real;
  return from(values, here).cast(dtype, here);
}

NDArray NDArray::from_bytes(const void* values, size_t count, DType dtype, const Extents& extents, Here here) {
  const plan::DType type = to_plan(dtype);
  const Dims shape = checked_shape("from", extents, type, here);
  if (ndarray::count(shape) != static_cast<int64_t>(count)) {
    fail("from", absl::StrCat(count, " values do not fill the shape ", text(shape)), here);
  }
  return new_filled("from", type, shape, values, here);
}

}  // namespace mxc
