// See hyper_range.h.
#include "runtime/io/hyper_range.h"

#include "absl/strings/str_cat.h"
#include "runtime/core/hyper_range.h"

namespace mxc::io {

std::string hyper_fault(const std::string& name, plan::DType dtype, double compiled, double value) {
  if (value == compiled) return "";
  const bool narrow = dtype == plan::DType::f32;
  const double held = narrow ? static_cast<float>(value) : value;
  const core::HyperRange& range = core::hyper_range(name.c_str());
  if (core::is_within(range, held)) return "";
  return absl::StrCat("expected ", range.text, ", not ", value, core::is_within(range, value) ? " (in f32)" : "");
}

}  // namespace mxc::io
