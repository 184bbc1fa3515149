// See dims.h.
#include "runtime/ndarray/dims.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace mxc::ndarray {

bool is_row_major(const Dims& shape, const Dims& strides) {
  int64_t expected = 1;
  bool fits = true;
  for (int axis = shape.size() - 1; axis >= 0; --axis) {
    if (shape[axis] == 0) return true;
    fits = fits && (shape[axis] == 1 || strides[axis] == expected);
    expected *= shape[axis];
  }
  return fits;
}

bool broadcast(Dims* shape, const Dims& other) {
  while (shape->size() < other.size()) shape->insert(0, 1);
  const int shift = shape->size() - other.size();
  for (int axis = 0; axis < other.size(); ++axis) {
    int64_t& extent = (*shape)[axis + shift];
    if (extent != other[axis] && extent != 1 && other[axis] != 1) return false;
    if (extent == 1) extent = other[axis];
  }
  return true;
}

Dims spread_strides(const Dims& own, const Dims& strides, const Dims& joint) {
  Dims spread;
  const int shift = joint.size() - own.size();
  for (int axis = 0; axis < joint.size(); ++axis) {
    const bool repeated = axis < shift || (own[axis - shift] == 1 && joint[axis] != 1);
    spread.push_back(repeated ? 0 : strides[axis - shift]);
  }
  return spread;
}

std::string text(const Dims& dims) { return absl::StrCat("{", absl::StrJoin(dims, ", "), "}"); }

}  // namespace mxc::ndarray
