// See dataset.h.
#include "runtime/io/dataset.h"

#include "absl/strings/str_join.h"

namespace mxc::io {

int64_t Field::elements() const {
  int64_t product = 1;
  for (int64_t extent : shape) product *= extent;
  return product;
}

std::string shape_text(const std::vector<int64_t>& shape) { return shape.empty() ? "scalar" : absl::StrJoin(shape, "x"); }

bool is_floating(plan::DType dtype) {
  return dtype == plan::DType::f32 || dtype == plan::DType::f64 || dtype == plan::DType::f16 || dtype == plan::DType::bf16;
}

absl::Status Dataset::read_varied(int field, const int64_t* rows, int64_t n, const Variation&, void* out) const {
  return read(field, rows, n, out);
}

int Dataset::find(const std::string& name) const {
  for (size_t i = 0; i < fields().size(); ++i) {
    if (fields()[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace mxc::io
