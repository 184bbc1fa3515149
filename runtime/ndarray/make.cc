// Making arrays from numbers.
#include <algorithm>
#include <cmath>
#include <new>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "runtime/engine/default_engine.h"
#include "runtime/ndarray/array.h"
#include "runtime/ndarray/copy.h"
#include "runtime/ndarray/pointwise.h"

namespace mxc {

using namespace ndarray;

namespace {

NDArray filled(const char* op, const Extents& extents, Number value, DType dtype, Here here) {
  const plan::DType type = to_plan(dtype);
  const Dims shape = checked_shape(op, extents, type, here);
  const uint64_t bits = element_bits(op, value, type, here);
  NDArray array = new_result(engine::default_engine(), cpu(), type, shape, here);
  fill_with(op, array, bits, here);
  return array;
}

// So many elements, if they are less than this; the numbers that make them lie in memory for a while.
constexpr double kLongestRange = 0x1p56;

// The elements of a range of whole numbers: exact, at the ends of int64_t, too. More than kLongestRange: too long.
double length_of(int64_t start, int64_t end, int64_t step) {
  const __int128 distance = static_cast<__int128>(end) - start;
  if (distance == 0 || (distance < 0) != (step < 0)) return 0;
  const __int128 wide = step, length = (distance + (step > 0 ? wide - 1 : wide + 1)) / wide;
  return static_cast<double>(length);
}

bool is_integer(plan::DType dtype) {
  return dtype == plan::DType::i8 || dtype == plan::DType::u8 || dtype == plan::DType::i32 || dtype == plan::DType::i64 ||
         dtype == plan::DType::boolean;
}

}  // namespace

NDArray NDArray::full(const Extents& shape, Number value, DType dtype, Here here) { return filled("full", shape, value, dtype, here); }
NDArray NDArray::zeros(const Extents& shape, DType dtype, Here here) { return filled("zeros", shape, 0, dtype, here); }
NDArray NDArray::ones(const Extents& shape, DType dtype, Here here) { return filled("ones", shape, 1, dtype, here); }

NDArray NDArray::arange(Number start, Number end, Number step, DType dtype, Here here) {
  if (step.real == 0 || !std::isfinite(start.real) || !std::isfinite(end.real) || !std::isfinite(step.real)) {
    fail("arange", absl::StrCat("from ", start.real, " to ", end.real, " by ", step.real, " is no range"), here);
  }
  const bool whole = start.is_whole && step.is_whole;
  const double length = whole && end.is_whole ? length_of(start.whole, end.whole, step.whole)
                                              : std::max(0.0, std::ceil((end.real - start.real) / step.real));
  if (length > kLongestRange) fail("arange", absl::StrCat("from ", start.real, " to ", end.real, " by ", step.real, " is too long"), here);
  const auto n = static_cast<int64_t>(length);
  checked_shape("arange", {n}, plan::DType::f64, here);
  // The numbers in double (whole ones as such) become elements by the cast that all arrays have.
  const auto element = [&](int64_t i) -> Number {
    if (!whole) return start.real + static_cast<double>(i) * step.real;
    return static_cast<int64_t>(static_cast<uint64_t>(start.whole) + static_cast<uint64_t>(i) * static_cast<uint64_t>(step.whole));
  };
  if (is_integer(to_plan(dtype))) {
    for (int64_t i : {int64_t{0}, std::min<int64_t>(1, n - 1), n - 1}) {  // the others lie between
      if (n > 0) element_bits("arange", element(i), to_plan(dtype), here);
    }
  }
  try {
    if (whole) {
      std::vector<int64_t> values(static_cast<size_t>(n));
      for (int64_t i = 0; i < n; ++i) values[static_cast<size_t>(i)] = element(i).whole;
      return from(values, here).cast(dtype, here);
    }
    std::vector<double> values(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) values[static_cast<size_t>(i)] = element(i).real;
    return from(values, here).cast(dtype, here);
  } catch (const std::bad_alloc&) {
    fail("arange", absl::StrCat("no memory for ", n, " elements"), here);
  } catch (const std::length_error&) {
    fail("arange", absl::StrCat("no memory for ", n, " elements"), here);
  }
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
