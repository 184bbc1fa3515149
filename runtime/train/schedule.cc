// See schedule.h.
#include "runtime/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace mxc::train {
namespace {

constexpr double kPi = 3.14159265358979323846;

struct Form {
  const char* name;
  Schedule::Kind kind;
  size_t least, most;  // numbers after the name
  double first_default;
};
constexpr Form kForms[] = {
    {"constant", Schedule::Kind::constant, 0, 0, 0}, {"step", Schedule::Kind::step, 2, 2, 0}, {"exp", Schedule::Kind::exp, 1, 1, 0},
    {"cosine", Schedule::Kind::cosine, 0, 1, 0},     {"poly", Schedule::Kind::poly, 0, 1, 1},
};

}  // namespace

absl::StatusOr<Schedule> parse_schedule(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  for (const Form& form : kForms) {
    if (parts[0] != form.name) continue;
    double numbers[2] = {form.first_default, 0};
    bool good = parts.size() - 1 >= form.least && parts.size() - 1 <= form.most;
    for (size_t i = 1; good && i < parts.size(); ++i) {
      good = absl::SimpleAtod(parts[i], &numbers[i - 1]) && std::isfinite(numbers[i - 1]) && numbers[i - 1] >= 0;
    }
    if (form.kind == Schedule::Kind::step) good = good && numbers[0] > 0;
    if (!good) break;
    return Schedule{form.kind, numbers[0], numbers[1]};
  }
  return absl::InvalidArgumentError("expected constant, step:EVERY:FACTOR, exp:FACTOR, cosine[:FLOOR] or poly[:POWER]");
}

double Schedule::factor(int64_t step, int64_t warmup, int64_t steps_per_epoch, int64_t total_steps) const {
  const double warm = step < warmup ? static_cast<double>(step + 1) / static_cast<double>(warmup) : 1;
  const int64_t t = std::max(step, warmup);
  const double epochs = static_cast<double>(t) / static_cast<double>(std::max<int64_t>(1, steps_per_epoch));
  const double length = static_cast<double>(std::max<int64_t>(1, total_steps - warmup));
  const double progress = std::min(1.0, static_cast<double>(t - warmup) / length);
  switch (kind) {
    case Kind::constant: return warm;
    case Kind::step: return warm * std::pow(second, std::floor(epochs / first));
    case Kind::exp: return warm * std::pow(first, epochs);
    case Kind::cosine: return warm * (first + (1 - first) * (1 + std::cos(kPi * progress)) / 2);
    case Kind::poly: return warm * std::pow(1 - progress, first);
  }
  return warm;
}

}  // namespace mxc::train
