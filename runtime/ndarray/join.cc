// Joining arrays and cutting them apart: copies into views of the result, and views.
#include <new>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "runtime/ndarray/copy.h"
#include "runtime/ndarray/pointwise.h"

namespace mxc {

using namespace ndarray;

namespace {

// The shapes must be equal beyond the axis.
void check_joins(const char* op, const Array& first, const Array& other, int axis, Here here) {
  check_together(op, first, other, here);
  check_dtype(op, first, other, here);
  check_alike(op, first.shape, other.shape, axis, here);
}

NDArray concat_along(const char* op, const std::vector<NDArray>& arrays, int64_t axis_given, Here here) {
  if (arrays.empty()) fail(op, "no arrays", here);
  const Array& first = get(arrays[0], op, here);
  const int axis = checked_axis(op, axis_given, first.shape.size(), here);
  Dims shape = first.shape;
  shape[axis] = 0;
  for (const NDArray& array : arrays) {
    const Array& part = get(array, op, here);
    check_joins(op, first, part, axis, here);
    shape[axis] += part.shape[axis];
  }
  NDArray out = new_result(first, first.dtype, checked_shape(op, shape.vector(), first.dtype, here), here);
  int64_t at = 0;
  for (const NDArray& array : arrays) {
    const int64_t extent = Access::peek(array)->shape[axis];
    copy_into(op, out.slice(axis, at, at + extent, 1, here), array, here);
    at += extent;
  }
  return out;
}

}  // namespace

NDArray concat(const std::vector<NDArray>& arrays, Axis along, Here here) { return concat_along("concat", arrays, along.axis, here); }

NDArray stack(const std::vector<NDArray>& arrays, Axis along, Here here) {
  if (arrays.empty()) fail("stack", "no arrays", here);
  const Array& first = get(arrays[0], "stack", here);
  const int axis = checked_axis("stack", along.axis, first.shape.size() + 1, here);
  std::vector<NDArray> expanded;
  for (const NDArray& array : arrays) {
    const Array& part = get(array, "stack", here);
    if (!(part.shape == first.shape)) fail("stack", absl::StrCat("shapes ", text(first.shape), " and ", text(part.shape), " differ"), here);
    if (part.shape.size() == plan::kMaxRank) fail("stack", absl::StrCat("arrays of shape ", text(part.shape), " cannot have more axes"), here);
    expanded.push_back(array.expand(axis, here));
  }
  return concat_along("stack", expanded, axis, here);
}

std::vector<NDArray> split(const NDArray& x, int64_t parts, Axis along, Here here) {
  const Array& array = get(x, "split", here);
  const int axis = checked_axis("split", along.axis, array.shape.size(), here);
  const int64_t extent = array.shape[axis];
  if (parts < 1 || extent % parts != 0) {
    fail("split", absl::StrCat("axis ", axis, " of shape ", text(array.shape), " does not split into ", parts, " equal parts"), here);
  }
  const int64_t length = extent / parts;
  std::vector<NDArray> views;
  try {
    views.reserve(static_cast<size_t>(parts));  // of an axis of extent 0 there may be any number
    for (int64_t i = 0; i < parts; ++i) views.push_back(x.slice(axis, i * length, (i + 1) * length, 1, here));
  } catch (const std::bad_alloc&) {
    fail("split", absl::StrCat("no memory for ", parts, " parts"), here);
  } catch (const std::length_error&) {
    fail("split", absl::StrCat("no memory for ", parts, " parts"), here);
  }
  return views;
}

namespace {

// `x` so many times one after the other along an axis.
NDArray repeated(const NDArray& x, int axis, int64_t times, Here here) {
  const NDArray operand = as_run(x, "tile", here);
  const Array& from = *Access::peek(operand);
  Extents wanted = from.shape.vector();
  if (__builtin_mul_overflow(from.shape[axis], times, &wanted[static_cast<size_t>(axis)])) {
    fail("tile", absl::StrCat("axis ", axis, " of shape ", text(from.shape), " repeated ", times, " times is too large"), here);
  }
  NDArray out = new_result(from, from.dtype, checked_shape("tile", wanted, from.dtype, here), here);
  // Both as three axes: what stands before, the repetitions, and the run that is repeated.
  int64_t before = 1;
  for (int i = 0; i < axis; ++i) before *= from.shape[i];
  const int64_t run = before == 0 ? 0 : from.elements / before;
  const Dims spread{before, times, run};
  const NDArray source = wrap({from.chunk, from.dtype, from.offset, spread, {run, 0, 1}});
  copy_into("tile", wrap({Access::peek(out)->chunk, from.dtype, 0, spread, row_major(spread)}), source, here);
  return out;
}

}  // namespace

NDArray tile(const NDArray& x, const Extents& times, Here here) {
  const Array& array = get(x, "tile", here);
  const Dims repeats = checked_shape("tile", times, array.dtype, here);
  if (repeats.size() < array.shape.size()) {
    fail("tile", absl::StrCat(repeats.size(), " numbers for an array of shape ", text(array.shape)), here);
  }
  NDArray result = x;
  while (result.rank(here) < repeats.size()) result = result.expand(0, here);
  for (int axis = 0; axis < repeats.size(); ++axis) {
    if (repeats[axis] == 0) result = result.slice(axis, 0, 0, 1, here);
    if (repeats[axis] > 1) result = repeated(result, axis, repeats[axis], here);
  }
  return Access::peek(result)->chunk == array.chunk ? copy_of("tile", result, here) : result;
}

NDArray pad(const NDArray& x, const Padding& padding, Here here) {
  const Array& array = get(x, "pad", here);
  const size_t rank = array.shape.size();
  if (padding.before.size() != rank || padding.after.size() != rank) {
    fail("pad", absl::StrCat(padding.before.size(), " and ", padding.after.size(), " numbers for an array of shape ", text(array.shape)), here);
  }
  Extents shape = array.shape.vector();
  for (size_t axis = 0; axis < rank; ++axis) {
    if (padding.before[axis] < 0 || padding.after[axis] < 0) fail("pad", absl::StrCat("axis ", axis, " is padded by less than nothing"), here);
    int64_t* extent = &shape[axis];
    if (__builtin_add_overflow(*extent, padding.before[axis], extent) || __builtin_add_overflow(*extent, padding.after[axis], extent)) {
      fail("pad", absl::StrCat("axis ", axis, " is padded by more than an array can hold"), here);
    }
  }
  NDArray out = new_result(array, array.dtype, checked_shape("pad", shape, array.dtype, here), here);
  fill_with("pad", out, element_bits("pad", padding.value, array.dtype, here), here);
  NDArray inside = out;
  for (size_t axis = 0; axis < rank; ++axis) {
    const int64_t from = padding.before[axis];
    inside = inside.slice(static_cast<int64_t>(axis), from, from + array.shape[static_cast<int>(axis)], 1, here);
  }
  copy_into("pad", inside, x, here);
  return out;
}

}  // namespace mxc
