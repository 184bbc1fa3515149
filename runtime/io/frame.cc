// See frame.h.
#include "runtime/io/frame.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/core/philox.h"

namespace mxc::io {
namespace {

constexpr uint32_t kFrameStream = 3;  // beside those of ShuffleStream
constexpr double kLeastArea = 0.08;   // of Crop::area, as a part of the picture (Szegedy et al. 2014)
constexpr double kWidest = 4.0 / 3;   // aspect ratios lie in [1 / kWidest, kWidest]
constexpr int kTries = 8;             // of Crop::area to find a window that fits

// The random numbers of one sample in one epoch: uniform in [0, 1), one after the other.
class Draws {
 public:
  Draws(const Variation& variation, int64_t row)
      : key_{{static_cast<uint32_t>(variation.seed), static_cast<uint32_t>(variation.seed >> 32)}},
        row_(static_cast<uint64_t>(row)),
        epoch_(variation.epoch) {}

  double uniform() {
    const uint32_t word = next_ % 4;
    if (word == 0) {
      // Stream and block share a word; a sample draws far fewer than 2^24 blocks.
      block_ = core::philox(
          {{static_cast<uint32_t>(row_), static_cast<uint32_t>(row_ >> 32), epoch_, kFrameStream | next_ / 4 << 8}}, key_);
    }
    ++next_;
    return block_.word[word] * 0x1p-32;
  }

  // Uniform in 0 .. count - 1.
  int64_t below(int64_t count) { return static_cast<int64_t>(uniform() * static_cast<double>(count)); }

 private:
  core::PhiloxKey key_;
  uint64_t row_;
  uint32_t epoch_;
  uint32_t next_ = 0;
  core::PhiloxBlock block_ = {};
};

// Pixels of the resized picture for one of the picture, along x and y.
struct Scale {
  double x, y;
};

Scale scale_of_picture(const Framing& framing, int64_t width, int64_t height) {
  const double x = static_cast<double>(framing.width) / static_cast<double>(width);
  const double y = static_cast<double>(framing.height) / static_cast<double>(height);
  if (framing.resize == Framing::Resize::stretch) return {x, y};
  if (framing.resize == Framing::Resize::cover) return {std::max(x, y), std::max(x, y)};
  const double side = static_cast<double>(framing.shorter_side) / static_cast<double>(std::min(width, height));
  return {side, side};
}

// Where the window starts along one axis, in pixels of the resized picture of size `have`: the middle, at a whole pixel.
double centre(double have, int64_t want) { return std::floor((have - static_cast<double>(want)) / 2 + 1e-6); }

// Any place for the window at whole pixels, over the picture and its border of `pad`. If it is larger than both: the middle.
double anywhere(double have, int64_t want, int64_t pad, Draws* draws) {
  const double room = std::floor(have - static_cast<double>(want) + 2 * static_cast<double>(pad) + 1e-6);
  return room < 0 ? centre(have, want) : static_cast<double>(draws->below(static_cast<int64_t>(room) + 1) - pad);
}

// A part of random area and aspect at a random place; false if none of the tries fits into the picture.
bool random_area(int64_t width, int64_t height, Draws* draws, Window* window) {
  const double w = static_cast<double>(width), h = static_cast<double>(height);
  for (int i = 0; i < kTries; ++i) {
    const double area = (kLeastArea + (1 - kLeastArea) * draws->uniform()) * w * h;
    const double aspect = 1 / kWidest + (kWidest - 1 / kWidest) * draws->uniform();
    window->width = std::sqrt(area * aspect);
    window->height = std::sqrt(area / aspect);
    if (window->width > w || window->height > h) continue;
    window->x = (w - window->width) * draws->uniform();
    window->y = (h - window->height) * draws->uniform();
    return true;
  }
  return false;
}

// For one point along an axis of the result: the first pixel that counts, and the weights from there on, which add up to 1.
// No weights: the point lies outside the picture.
struct Taps {
  int64_t first = 0;
  std::vector<float> weights;
};

std::vector<Taps> make_taps(double start, double extent, int64_t have, int64_t want) {
  const double step = extent / static_cast<double>(want);
  const double reach = std::max(step, 1.0);  // half the base of the triangle of weights
  std::vector<Taps> taps(want);
  std::vector<double> weights;
  for (int64_t i = 0; i < want; ++i) {
    const double middle = start + (static_cast<double>(i) + 0.5) * step;
    if (middle < 0 || middle > static_cast<double>(have)) continue;
    const int64_t first = std::max<int64_t>(0, static_cast<int64_t>(std::floor(middle - reach)));
    const int64_t end = std::min<int64_t>(have, static_cast<int64_t>(std::ceil(middle + reach)));
    weights.clear();
    double sum = 0;
    for (int64_t p = first; p < end; ++p) {
      weights.push_back(std::max(0.0, 1 - std::fabs(static_cast<double>(p) + 0.5 - middle) / reach));
      sum += weights.back();
    }
    taps[i].first = first;
    for (double weight : weights) taps[i].weights.push_back(static_cast<float>(weight / sum));
  }
  return taps;
}

bool is_copy(const Window& window, int64_t width, int64_t height) {
  return window.width == static_cast<double>(width) && window.height == static_cast<double>(height) &&
         window.x == std::floor(window.x) && window.y == std::floor(window.y);
}

void copy(const Picture& picture, const Window& window, int64_t width, int64_t height, float* out) {
  const int64_t x0 = static_cast<int64_t>(window.x), y0 = static_cast<int64_t>(window.y);
  for (int64_t c = 0; c < picture.channels; ++c) {
    for (int64_t y = 0; y < height; ++y) {
      const bool inside = y0 + y >= 0 && y0 + y < picture.height;
      for (int64_t x = 0; x < width; ++x) {
        const int64_t from = x0 + (window.mirrored ? width - 1 - x : x);
        *out++ = inside && from >= 0 && from < picture.width ? picture.row(y0 + y)[from * picture.channels + c] : 0.0f;
      }
    }
  }
}

}  // namespace

Window choose_window(const Framing& framing, int64_t width, int64_t height, const Variation* variation, int64_t row) {
  Draws draws(variation == nullptr ? Variation{} : *variation, row);
  const Framing::Crop crop = variation == nullptr ? Framing::Crop::centre : framing.crop;
  Window window;
  window.mirrored = variation != nullptr && framing.flip && draws.below(2) == 1;
  if (crop == Framing::Crop::area && random_area(width, height, &draws, &window)) return window;

  const Scale scale = scale_of_picture(framing, width, height);
  const double resized_width = static_cast<double>(width) * scale.x, resized_height = static_cast<double>(height) * scale.y;
  const bool random = crop == Framing::Crop::random;
  window.x = random ? anywhere(resized_width, framing.width, framing.pad, &draws) : centre(resized_width, framing.width);
  window.y = random ? anywhere(resized_height, framing.height, framing.pad, &draws) : centre(resized_height, framing.height);
  window.x /= scale.x;
  window.y /= scale.y;
  window.width = static_cast<double>(framing.width) / scale.x;
  window.height = static_cast<double>(framing.height) / scale.y;
  return window;
}

void resample(const Picture& picture, const Window& window, int64_t width, int64_t height, float* out) {
  if (is_copy(window, width, height)) return copy(picture, window, width, height, out);
  const std::vector<Taps> across = make_taps(window.x, window.width, picture.width, width);
  const std::vector<Taps> down = make_taps(window.y, window.height, picture.height, height);
  int64_t first = picture.height, end = 0;  // the rows that count
  for (const Taps& taps : down) {
    if (taps.weights.empty()) continue;
    first = std::min(first, taps.first);
    end = std::max(end, taps.first + static_cast<int64_t>(taps.weights.size()));
  }
  std::vector<float> rows(std::max<int64_t>(0, end - first) * width);
  for (int64_t c = 0; c < picture.channels; ++c) {
    for (int64_t y = first; y < end; ++y) {
      const uint8_t* from = picture.row(y) + c;
      for (int64_t x = 0; x < width; ++x) {
        const Taps& taps = across[window.mirrored ? width - 1 - x : x];
        float sum = 0;
        for (size_t t = 0; t < taps.weights.size(); ++t) {
          sum += taps.weights[t] * static_cast<float>(from[(taps.first + static_cast<int64_t>(t)) * picture.channels]);
        }
        rows[(y - first) * width + x] = sum;
      }
    }
    for (const Taps& taps : down) {
      for (int64_t x = 0; x < width; ++x) {
        float sum = 0;
        for (size_t t = 0; t < taps.weights.size(); ++t) {
          sum += taps.weights[t] * rows[(taps.first - first + static_cast<int64_t>(t)) * width + x];
        }
        *out++ = sum;
      }
    }
  }
}

}  // namespace mxc::io
