// One picture out of the bytes of a JPEG or PNG file, whichever its content says it is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace mxc::io {

// Pixels row by row from the top, the channels of a pixel beside each other.
struct Picture {
  int64_t width = 0, height = 0;
  int64_t channels = 0;  // 1: grey, 3: red, green, blue
  std::vector<uint8_t> pixels;

  const uint8_t* row(int64_t y) const { return pixels.data() + y * width * channels; }
};

// Decodes with `channels` (1 or 3): grey pictures get three equal channels, coloured ones become their luminance
// 0.299 R + 0.587 G + 0.114 B. Sixteen bits a channel become eight, palettes their colours. Orientation tags and gamma are left alone.
// Error, each with `path` in front: neither JPEG nor PNG; damaged or cut off, in the decoder's words; four channels (CMYK);
// pixels that are not opaque; a picture of more than 2^28 pixels.
absl::StatusOr<Picture> decode_picture(const std::string& bytes, const std::string& path, int channels);

// The two kinds; the fault's text, or an empty one. `picture` gets the channels that the file has (PNG: 1 to 4, the even ones with
// alpha) or, JPEG, those asked for.
std::string decode_jpeg(const std::string& bytes, int channels, Picture* picture);
std::string decode_png(const std::string& bytes, Picture* picture);

constexpr int64_t kMostPixels = int64_t{1} << 28;

}  // namespace mxc::io
