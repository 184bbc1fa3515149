// See picture_file.h.
#include "runtime/io/picture_file.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace mxc::io {
namespace {

// Takes off an alpha channel; false if a pixel is not opaque.
bool drop_alpha(Picture* picture) {
  const int64_t colours = picture->channels - 1;
  const int64_t count = picture->width * picture->height;
  uint8_t* pixels = picture->pixels.data();
  for (int64_t i = 0; i < count; ++i) {
    if (pixels[i * picture->channels + colours] != 255) return false;
    for (int64_t c = 0; c < colours; ++c) pixels[i * colours + c] = pixels[i * picture->channels + c];
  }
  picture->channels = colours;
  picture->pixels.resize(count * colours);
  return true;
}

// The luminance in 16 bits of fraction, rounded, as JPEG defines it.
uint8_t luminance(const uint8_t* rgb) {
  return static_cast<uint8_t>((19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + 32768) >> 16);
}

void change_channels(Picture* picture, int channels) {
  if (picture->channels == channels) return;
  const int64_t count = picture->width * picture->height;
  std::vector<uint8_t> pixels(count * channels);
  for (int64_t i = 0; i < count; ++i) {
    if (channels == 1) {
      pixels[i] = luminance(picture->pixels.data() + 3 * i);
    } else {
      for (int c = 0; c < 3; ++c) pixels[3 * i + c] = picture->pixels[i];
    }
  }
  picture->channels = channels;
  picture->pixels = std::move(pixels);
}

}  // namespace

absl::StatusOr<Picture> decode_picture(const std::string& bytes, const std::string& path, int channels) {
  Picture picture;
  std::string fault;
  if (absl::StartsWith(bytes, "\xff\xd8")) {
    fault = decode_jpeg(bytes, channels, &picture);
  } else if (absl::StartsWith(bytes, "\x89PNG")) {
    fault = decode_png(bytes, &picture);
    if (fault.empty() && picture.channels % 2 == 0 && !drop_alpha(&picture)) fault = "there are pixels that are not opaque";
  } else {
    fault = bytes.empty() ? "the file is empty" : "neither JPEG nor PNG";
  }
  if (!fault.empty()) return absl::InvalidArgumentError(absl::StrCat(path, ": ", fault));
  change_channels(&picture, channels);
  return picture;
}

}  // namespace mxc::io
