// See hyper_range.h.
#include "runtime/train/hyper_range.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"

namespace mxc::train {
namespace {

struct Range {
  const char* name;
  double least, below;  // least <= value < below
  bool zero;            // is the value 0 within?
  const char* text;
};
constexpr double kNoEnd = std::numeric_limits<double>::infinity();
constexpr Range kRanges[] = {
    {"lr", 0, kNoEnd, true, "a number of at least 0"},       {"weight_decay", 0, kNoEnd, true, "a number of at least 0"},
    {"clip", 0, kNoEnd, true, "a number of at least 0"},     {"momentum", 0, 1, true, "a number of at least 0 and below 1"},
    {"beta1", 0, 1, true, "a number of at least 0 and below 1"}, {"beta2", 0, 1, true, "a number of at least 0 and below 1"},
    {"epsilon", 0, kNoEnd, false, "a number above 0"},       {"clip_norm", 0, kNoEnd, true, "a number of at least 0"},
    {"rho", 0, 1, true, "a number of at least 0 and below 1"},   {"l1", 0, kNoEnd, true, "a number of at least 0"},
    {"loss_scale", 0, kNoEnd, false, "a number above 0"},
    {"beta", 0, kNoEnd, true, "a number of at least 0"},     {"eta", 0, kNoEnd, true, "a number of at least 0"},
};

}  // namespace

std::string hyper_fault(const std::string& name, plan::DType dtype, double compiled, double value) {
  if (value == compiled) return "";
  const bool narrow = dtype == plan::DType::f32;
  const double held = narrow ? static_cast<float>(value) : value;
  const std::string not_this = absl::StrCat(", not ", value, narrow && held != value && !std::isnan(value) ? " (in f32)" : "");
  for (const Range& range : kRanges) {
    if (name != range.name) continue;
    const bool good = std::isfinite(held) && held >= range.least && held < range.below && (range.zero || held != 0);
    return good ? "" : absl::StrCat("expected ", range.text, not_this);
  }
  return std::isfinite(held) ? "" : absl::StrCat("expected a finite number", not_this);
}

}  // namespace mxc::train
