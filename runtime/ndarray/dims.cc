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

std::string text(const Dims& dims) { return absl::StrCat("{", absl::StrJoin(dims, ", "), "}"); }

}  // namespace mxc::ndarray
