// See picture.h.
#include "runtime/train/picture.h"

#include <algorithm>

namespace mxc::train {
namespace {

constexpr char kRamp[] = " .:-=+*#%@";
constexpr int kShades = sizeof kRamp - 1;

}  // namespace

bool is_picture(const std::vector<int64_t>& shape) {
  if (shape.size() == 3 ? shape[0] != 1 && shape[0] != 3 : shape.size() != 2) return false;
  const int64_t rows = shape[shape.size() - 2], columns = shape[shape.size() - 1];
  return std::min(rows, columns) >= 2 && std::max(rows, columns) <= kLargestPicture;
}

std::vector<std::string> draw_picture(const std::vector<int64_t>& shape, const std::vector<double>& values) {
  const int64_t channels = shape.size() == 3 ? shape[0] : 1;
  const int64_t rows = shape[shape.size() - 2], columns = shape[shape.size() - 1], pixels = rows * columns;
  std::vector<double> grey(pixels, 0);
  for (int64_t i = 0; i < channels * pixels; ++i) grey[i % pixels] += values[i];
  const auto [low, high] = std::minmax_element(grey.begin(), grey.end());
  const double darkest = *low, range = *high - *low;
  std::vector<std::string> lines(rows);
  for (int64_t i = 0; i < pixels; ++i) {
    const double shade = range > 0 ? (grey[i] - darkest) / range : 0;
    const int index = std::clamp(static_cast<int>(shade * kShades), 0, kShades - 1);
    lines[i / columns].append(2, kRamp[index]);
  }
  return lines;
}

}  // namespace mxc::train
