// Views: other shapes and strides over the same chunk. Nothing is queued, but for a reshape that must copy.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/ndarray/array.h"
#include "runtime/ndarray/copy.h"
#include "runtime/ndarray/pointwise.h"

namespace mxc {

using namespace ndarray;
using PublicView = ::mxc::View;

namespace {

PublicView view(const Array& base, int64_t offset, const Dims& shape, const Dims& strides, Here here) {
  return PublicView(wrap({base.chunk, base.dtype, offset, shape, strides, base.packed}), here);
}

int64_t checked_index(const char* op, int64_t index, int64_t extent, int axis, const Array& array, Here here) {
  if (index < -extent || index >= extent) {
    fail(op, absl::StrCat("index ", index, " is outside of axis ", axis, " of shape ", text(array.shape)), here);
  }
  return index < 0 ? index + extent : index;
}

// Strides that show the elements of (shape, strides) in the same order with other extents. False if there are none.
bool strides_for(const Dims& shape, const Dims& strides, const Dims& wanted, Dims* out) {
  out->resize(wanted.size(), 1);
  Dims from, from_strides;  // without axes of extent 1
  for (int axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) continue;
    from.push_back(shape[axis]);
    from_strides.push_back(strides[axis]);
  }
  int at = 0;  // of `from`
  for (int axis = 0; axis < wanted.size();) {
    // The shortest runs of axes of both sides with the same product.
    int64_t new_product = wanted[axis], old_product = at < from.size() ? from[at] : 1;
    int new_end = axis + 1, old_end = std::min(at + 1, from.size());
    while (new_product != old_product) {
      if (new_product < old_product && new_end < wanted.size()) {
        new_product *= wanted[new_end++];
      } else if (old_end < from.size() && new_product > old_product) {
        old_product *= from[old_end++];
      } else {
        break;
      }
    }
    if (new_product != old_product) {
      // Only axes of extent 1 are left over.
      if (new_product != 1) return false;
      old_end = at;
    }
    for (int i = at; i + 1 < old_end; ++i) {
      if (from_strides[i] != from[i + 1] * from_strides[i + 1]) return false;
    }
    int64_t stride = old_end > at ? from_strides[old_end - 1] : 1;
    for (int i = new_end - 1; i >= axis; --i) {
      (*out)[i] = stride;
      stride *= wanted[i];
    }
    axis = new_end;
    at = old_end;
  }
  return true;
}

}  // namespace

PublicView NDArray::operator[](Index index) const {
  const Array& base = get(*this, "[]", index.where);
  if (base.shape.size() == 0) fail("[]", "the array has no axes", index.where);
  const int64_t i = checked_index("[]", index.value, base.shape[0], 0, base, index.where);
  Dims shape = base.shape, strides = base.strides;
  shape.erase(0);
  strides.erase(0);
  return view(base, base.offset + i * base.strides[0], shape, strides, index.where);
}

PublicView NDArray::at(std::initializer_list<int64_t> indices, Here here) const {
  const Array& base = get(*this, "at", here);
  const int count = static_cast<int>(indices.size());
  if (count > base.shape.size()) fail("at", absl::StrCat(count, " indices for an array of shape ", text(base.shape)), here);
  int64_t offset = base.offset;
  for (int axis = 0; axis < count; ++axis) {
    offset += checked_index("at", indices.begin()[axis], base.shape[axis], axis, base, here) * base.strides[axis];
  }
  Dims shape, strides;
  for (int axis = count; axis < base.shape.size(); ++axis) {
    shape.push_back(base.shape[axis]);
    strides.push_back(base.strides[axis]);
  }
  return view(base, offset, shape, strides, here);
}

PublicView NDArray::slice(int64_t axis_given, int64_t from, int64_t to, int64_t step, Here here) const {
  const Array& base = get(*this, "slice", here);
  const int axis = checked_axis("slice", axis_given, base.shape.size(), here);
  if (step < 1) fail("slice", absl::StrCat("the step is ", step, ": at least 1"), here);
  const int64_t extent = base.shape[axis];
  auto cut = [extent](int64_t end) { return std::clamp<int64_t>(end < 0 ? end + extent : end, 0, extent); };
  const int64_t first = cut(from), last = std::max(cut(to), first);
  Dims shape = base.shape, strides = base.strides;
  shape[axis] = last == first ? 0 : (last - first - 1) / step + 1;
  if (shape[axis] > 1) strides[axis] *= step;  // else the step may be larger than any stride
  return view(base, base.offset + first * base.strides[axis], shape, strides, here);
}

namespace {

PublicView reshaped(const char* op, const NDArray& array, const Extents& extents, Here here) {
  const Array& base = get(array, op, here);
  Extents known = extents;
  auto unknown = std::find(known.begin(), known.end(), -1);
  if (std::count(known.begin(), known.end(), -1) == 1) {
    *unknown = 1;
    const int64_t others = count(checked_shape(op, known, base.dtype, here));
    *unknown = others > 0 ? base.elements / others : 0;
  }
  const bool negative = std::any_of(known.begin(), known.end(), [](int64_t extent) { return extent < 0; });
  if (negative || count(checked_shape(op, known, base.dtype, here)) != base.elements) {
    const Dims asked = extents.size() <= plan::kMaxRank ? Dims(extents) : Dims();
    fail(op, absl::StrCat("shape ", text(base.shape), " with ", base.elements, " elements cannot become ", text(asked)), here);
  }
  const Dims shape(known);
  if (base.contiguous) return view(base, base.offset, shape, row_major(shape), here);
  Dims strides;
  if (strides_for(base.shape, base.strides, shape, &strides)) return view(base, base.offset, shape, strides, here);
  NDArray plain = copy_of(op, array, here);
  const Array& copied = *Access::peek(plain);
  return PublicView(wrap({copied.chunk, copied.dtype, 0, shape, row_major(shape)}), here, /*is_copy=*/true);
}

}  // namespace

PublicView NDArray::reshape(const Extents& extents, Here here) const { return reshaped("reshape", *this, extents, here); }
PublicView NDArray::flatten(Here here) const { return reshaped("flatten", *this, {-1}, here); }

PublicView NDArray::transpose(const Extents& axes, Here here) const {
  const Array& base = get(*this, "transpose", here);
  const int rank = base.shape.size();
  if (!axes.empty() && static_cast<int>(axes.size()) != rank) {
    fail("transpose", absl::StrCat(axes.size(), " axes for an array of shape ", text(base.shape)), here);
  }
  Dims shape, strides;
  unsigned seen = 0;
  for (int i = 0; i < rank; ++i) {
    const int axis = axes.empty() ? rank - 1 - i : checked_axis("transpose", axes[i], rank, here);
    if ((seen >> axis & 1) != 0) fail("transpose", absl::StrCat("axis ", axis, " is there twice"), here);
    seen |= 1u << axis;
    shape.push_back(base.shape[axis]);
    strides.push_back(base.strides[axis]);
  }
  return view(base, base.offset, shape, strides, here);
}

PublicView NDArray::expand(int64_t axis_given, Here here) const {
  const Array& base = get(*this, "expand", here);
  const int rank = base.shape.size();
  if (rank == plan::kMaxRank) fail("expand", absl::StrCat("an array of shape ", text(base.shape), " cannot have more axes"), here);
  const int axis = checked_axis("expand", axis_given, rank + 1, here);
  Dims shape = base.shape, strides = base.strides;
  shape.insert(axis, 1);
  strides.insert(axis, 1);
  return view(base, base.offset, shape, strides, here);
}

PublicView NDArray::squeeze(int64_t axis_given, Here here) const {
  const Array& base = get(*this, "squeeze", here);
  const int axis = checked_axis("squeeze", axis_given, base.shape.size(), here);
  if (base.shape[axis] != 1) fail("squeeze", absl::StrCat("axis ", axis, " of shape ", text(base.shape), " has more than one element"), here);
  Dims shape = base.shape, strides = base.strides;
  shape.erase(axis);
  strides.erase(axis);
  return view(base, base.offset, shape, strides, here);
}

PublicView NDArray::broadcast_to(const Extents& extents, Here here) const {
  const Array& base = get(*this, "broadcast_to", here);
  const Dims shape = checked_shape("broadcast_to", extents, base.dtype, here);
  Dims joint = base.shape;
  if (!broadcast(&joint, shape) || !(joint == shape)) {
    fail("broadcast_to", absl::StrCat("shape ", text(base.shape), " does not broadcast to ", text(shape)), here);
  }
  return view(base, base.offset, shape, spread_strides(base.shape, base.strides, shape), here);
}

}  // namespace mxc
