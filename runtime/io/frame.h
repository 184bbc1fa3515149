// How a picture of any size becomes one of the size that a model wants: which part of it is taken, mirrored or not (a window), and
// its pixels at the new size (resample).
#pragma once

#include <cstdint>

#include "runtime/io/dataset.h"
#include "runtime/io/picture_file.h"

namespace mxc::io {

// A choice of the user (sources.h: `resize`, `crop`, `pad`, `flip`).
struct Framing {
  enum class Resize { cover, stretch, shorter_side };
  enum class Crop { centre, random, area };

  int64_t width = 0, height = 0;  // wanted
  Resize resize = Resize::cover;
  int64_t shorter_side = 0;  // of the resized picture, for Resize::shorter_side
  Crop crop = Crop::centre;  // in training; else always the centre
  int64_t pad = 0;           // of black around the resized picture, for Crop::random
  bool flip = false;         // mirrors half of the pictures in training
};

// A rectangle over a picture, in its pixels: pixel (0, 0) covers [0, 1) x [0, 1). It may reach beyond the picture.
struct Window {
  double x = 0, y = 0, width = 0, height = 0;
  bool mirrored = false;
};

// The window for a picture of width x height. Without a variation: the centre. With one: what (seed, epoch, row) draw.
Window choose_window(const Framing& framing, int64_t width, int64_t height, const Variation* variation, int64_t row);

// What a window shows, as width x height pixels, channel after channel, in 0 .. 255. Bilinear; where it shrinks, the weights widen
// so that every pixel of the window counts (no aliasing). A window of the wanted size at whole pixels is copied exactly. Points
// outside the picture are 0.
void resample(const Picture& picture, const Window& window, int64_t width, int64_t height, float* out);

}  // namespace mxc::io
