#include "runtime/io/picture_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/runtime/io/picture_writer.h"

namespace mxc::io {
namespace {

using mxc::test::jpeg_bytes;
using mxc::test::Png;
using mxc::test::png_bytes;

std::vector<uint8_t> pixels_of(const std::string& bytes, int channels) {
  const auto picture = decode_picture(bytes, "p", channels);
  EXPECT_TRUE(picture.ok()) << picture.status();
  return picture.ok() ? picture->pixels : std::vector<uint8_t>();
}

std::string fault_of(const std::string& bytes, int channels = 3) {
  const auto picture = decode_picture(bytes, "dir/p.jpg", channels);
  return picture.ok() ? "" : std::string(picture.status().message());
}

// Numbers without a pattern that a wrong order of rows, pixels or channels would keep.
std::vector<uint8_t> noise(int count) {
  std::vector<uint8_t> out(count);
  uint32_t state = 12345;
  for (uint8_t& v : out) v = static_cast<uint8_t>((state = state * 1664525 + 1013904223) >> 24);
  return out;
}

TEST(Png, EveryKindOfPixel) {
  const std::vector<uint8_t> colours = noise(5 * 3 * 3);
  EXPECT_EQ(pixels_of(png_bytes({.width = 5, .height = 3, .pixels = colours}), 3), colours);
  EXPECT_EQ(pixels_of(png_bytes({.width = 5, .height = 3, .pixels = colours, .interlaced = true}), 3), colours);
  const std::vector<uint8_t> greys = {0, 7, 200, 255};
  EXPECT_EQ(pixels_of(png_bytes({.width = 2, .height = 2, .type = PNG_COLOR_TYPE_GRAY, .pixels = greys}), 1), greys);
  // One bit a pixel, the first of a byte on top: 1 0 1 / 0 1 1.
  EXPECT_EQ(pixels_of(png_bytes({.width = 3, .height = 2, .bits = 1, .type = PNG_COLOR_TYPE_GRAY, .pixels = {0xa0, 0x60}}), 1),
            (std::vector<uint8_t>{255, 0, 255, 0, 255, 255}));
  // 16 bits: round(v / 257). 0x8080 = 128 * 257; 0x80ff is 127 above it, 0x8101 is 129 above it.
  EXPECT_EQ(
      pixels_of(
          png_bytes(
              {.width = 3, .height = 1, .bits = 16, .type = PNG_COLOR_TYPE_GRAY, .pixels = {0x80, 0x80, 0x80, 0xff, 0x81, 0x01}}),
          1),
      (std::vector<uint8_t>{128, 128, 129}));
  EXPECT_EQ(
      pixels_of(
          png_bytes(
              {.width = 3, .height = 1, .type = PNG_COLOR_TYPE_PALETTE, .pixels = {1, 0, 1}, .palette = {{1, 2, 3}, {40, 50, 60}}}),
          3),
      (std::vector<uint8_t>{40, 50, 60, 1, 2, 3, 40, 50, 60}));
}

TEST(Png, PalettesOfFewBitsAndWithTransparency) {
  // Two bits a pixel, the first of a byte on top, rows of whole bytes: 2 1 0 1 2 / 0 2 2 1 0.
  const std::vector<png_color> palette = {{1, 2, 3}, {40, 50, 60}, {7, 8, 9}};
  Png picture = {.width = 5, .height = 2, .bits = 2, .type = PNG_COLOR_TYPE_PALETTE, .pixels = {0x91, 0x80, 0x29, 0x00}, .palette = palette};
  std::vector<uint8_t> colours;
  for (int index : {2, 1, 0, 1, 2, 0, 2, 2, 1, 0})
    for (uint8_t part : {palette[index].red, palette[index].green, palette[index].blue}) colours.push_back(part);
  EXPECT_EQ(pixels_of(png_bytes(picture), 3), colours);
  picture.interlaced = true;
  EXPECT_EQ(pixels_of(png_bytes(picture), 3), colours);
  picture.alphas = {255, 255};
  EXPECT_EQ(pixels_of(png_bytes(picture), 3), colours);
  picture.alphas = {255, 3};
  EXPECT_EQ(fault_of(png_bytes(picture)), "dir/p.jpg: there are pixels that are not opaque");
}

// A reader that looked no further would read whatever lies behind the palette.
TEST(Png, ColoursBeyondThePaletteAreAnError) {
  Png picture = {.width = 3, .height = 1, .type = PNG_COLOR_TYPE_PALETTE, .pixels = {1, 0, 2}, .palette = {{1, 2, 3}, {40, 50, 60}}};
  EXPECT_EQ(fault_of(png_bytes(picture)), "dir/p.jpg: damaged PNG: a pixel's colour is not in its palette");
  picture.pixels = {1, 0, 1};
  EXPECT_EQ(fault_of(png_bytes(picture)), "");
}

TEST(Png, ChannelsAreChanged) {
  const Png grey = {.width = 2, .height = 1, .type = PNG_COLOR_TYPE_GRAY, .pixels = {9, 250}};
  EXPECT_EQ(pixels_of(png_bytes(grey), 3), (std::vector<uint8_t>{9, 9, 9, 250, 250, 250}));
  // 0.299 * 255 = 76.2, 0.587 * 255 = 149.7, 0.114 * 255 = 29.1; 0.299 * 10 + 0.587 * 20 + 0.114 * 30 = 18.15.
  const Png colours = {.width = 4, .height = 1, .pixels = {255, 0, 0, 0, 255, 0, 0, 0, 255, 10, 20, 30}};
  EXPECT_EQ(pixels_of(png_bytes(colours), 1), (std::vector<uint8_t>{76, 150, 29, 18}));
}

TEST(Png, AlphaIsDroppedWhereAllIsOpaque) {
  Png rgba = {.width = 2, .height = 1, .type = PNG_COLOR_TYPE_RGB_ALPHA, .pixels = {1, 2, 3, 255, 4, 5, 6, 255}};
  EXPECT_EQ(pixels_of(png_bytes(rgba), 3), (std::vector<uint8_t>{1, 2, 3, 4, 5, 6}));
  rgba.pixels[7] = 254;
  EXPECT_EQ(fault_of(png_bytes(rgba)), "dir/p.jpg: there are pixels that are not opaque");
  const Png grey = {.width = 2, .height = 1, .type = PNG_COLOR_TYPE_GRAY_ALPHA, .pixels = {7, 255, 8, 255}};
  EXPECT_EQ(pixels_of(png_bytes(grey), 1), (std::vector<uint8_t>{7, 8}));
}

TEST(Png, Damage) {
  const std::string whole = png_bytes({.width = 16, .height = 16, .pixels = noise(768)});
  EXPECT_EQ(fault_of(whole), "");
  EXPECT_EQ(fault_of(whole.substr(0, whole.size() / 2)), "dir/p.jpg: damaged PNG: the data end early");
  EXPECT_EQ(fault_of(whole.substr(0, 8)), "dir/p.jpg: damaged PNG: the data end early");
  std::string damaged = whole;
  damaged[18] = '\x7f';  // in the width
  EXPECT_EQ(fault_of(damaged), "dir/p.jpg: damaged PNG: IHDR: CRC error");
  // Each cut is an error, none a crash or a picture.
  for (size_t n = 0; n + 12 < whole.size(); n += 7) EXPECT_NE(fault_of(whole.substr(0, n)), "") << n;
}

// The witness: the coefficients of a file through the inverse transform of the JPEG standard (ITU T.81, A.3.3) in double, and the
// conversion of colours of JFIF.
std::vector<double> plain_decode(const std::string& bytes) {
  jpeg_decompress_struct info;
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&info, TRUE);
  jvirt_barray_ptr* coefficients = jpeg_read_coefficients(&info);
  const int width = static_cast<int>(info.image_width), height = static_cast<int>(info.image_height);
  std::vector<double> planes(info.num_components * width * height);
  for (int c = 0; c < info.num_components; ++c) {
    const UINT16* table = info.comp_info[c].quant_table->quantval;
    for (int y = 0; y < height; ++y) {
      JBLOCKARRAY blocks = info.mem->access_virt_barray(reinterpret_cast<j_common_ptr>(&info), coefficients[c], y / 8, 1, FALSE);
      for (int x = 0; x < width; ++x) {
        const JCOEF* block = blocks[0][x / 8];
        double sum = 0;
        for (int v = 0; v < 8; ++v) {
          for (int u = 0; u < 8; ++u) {
            const double scale = (u == 0 ? std::sqrt(0.5) : 1) * (v == 0 ? std::sqrt(0.5) : 1) / 4;
            sum += scale * block[v * 8 + u] * table[v * 8 + u] * std::cos((2 * (x % 8) + 1) * u * M_PI / 16) *
                   std::cos((2 * (y % 8) + 1) * v * M_PI / 16);
          }
        }
        planes[(c * height + y) * width + x] = std::clamp(sum + 128, 0.0, 255.0);
      }
    }
  }
  jpeg_finish_decompress(&info);
  const int components = info.num_components;
  jpeg_destroy_decompress(&info);
  if (components == 1) return planes;
  std::vector<double> out(3 * width * height);
  for (int i = 0; i < width * height; ++i) {
    const double y = planes[i], cb = planes[width * height + i] - 128, cr = planes[2 * width * height + i] - 128;
    out[3 * i] = std::clamp(y + 1.402 * cr, 0.0, 255.0);
    out[3 * i + 1] = std::clamp(y - 0.344136 * cb - 0.714136 * cr, 0.0, 255.0);
    out[3 * i + 2] = std::clamp(y + 1.772 * cb, 0.0, 255.0);
  }
  return out;
}

double largest_difference(const std::vector<uint8_t>& have, const std::vector<double>& want) {
  EXPECT_EQ(have.size(), want.size());
  double largest = 0;
  for (size_t i = 0; i < std::min(have.size(), want.size()); ++i) largest = std::max(largest, std::fabs(have[i] - want[i]));
  return largest;
}

TEST(Jpeg, AgreesWithTheStandardsTransform) {
  // Greys: half a level of the transform and half of rounding. Colours: three rounded planes, times up to 1.772.
  const std::string grey = jpeg_bytes(24, 16, JCS_GRAYSCALE, noise(24 * 16), 80);
  EXPECT_LE(largest_difference(pixels_of(grey, 1), plain_decode(grey)), 1.01);
  const std::string colour = jpeg_bytes(24, 16, JCS_RGB, noise(24 * 16 * 3), 80);
  EXPECT_LE(largest_difference(pixels_of(colour, 3), plain_decode(colour)), 3.0);
}

TEST(Jpeg, ChannelsAreChanged) {
  const std::string grey = jpeg_bytes(8, 8, JCS_GRAYSCALE, std::vector<uint8_t>(64, 77));
  EXPECT_EQ(pixels_of(grey, 1), std::vector<uint8_t>(64, 77));
  EXPECT_EQ(pixels_of(grey, 3), std::vector<uint8_t>(192, 77));
  std::vector<uint8_t> red;
  for (int i = 0; i < 64; ++i) red.insert(red.end(), {200, 20, 20});
  for (uint8_t v : pixels_of(jpeg_bytes(8, 8, JCS_RGB, red), 1)) EXPECT_NEAR(v, 0.299 * 200 + 0.701 * 20, 1.5);
}

TEST(Jpeg, Damage) {
  const std::string whole = jpeg_bytes(32, 32, JCS_RGB, noise(3072));
  EXPECT_EQ(fault_of(whole), "");
  EXPECT_EQ(fault_of(whole.substr(0, whole.size() / 2)), "dir/p.jpg: damaged JPEG: Premature end of JPEG file");
  EXPECT_EQ(fault_of("\xff\xd8\xff"), "dir/p.jpg: damaged JPEG: Premature end of JPEG file");
  std::string damaged = whole;
  for (size_t i = whole.size() / 2; i < whole.size() / 2 + 40; ++i) damaged[i] = '\xff';
  EXPECT_EQ(fault_of(damaged).find("dir/p.jpg: damaged JPEG: Corrupt JPEG data"), 0u) << fault_of(damaged);
  for (size_t n = 2; n + 2 < whole.size(); n += 11) EXPECT_NE(fault_of(whole.substr(0, n)), "") << n;
}

TEST(Jpeg, FourChannelsAreNamed) {
  EXPECT_EQ(fault_of(jpeg_bytes(8, 8, JCS_CMYK, noise(256))),
            "dir/p.jpg: a JPEG of four channels (CMYK); grey and coloured ones can be read");
}

TEST(PictureFile, TheContentDecidesAndNotTheName) {
  EXPECT_EQ(fault_of(png_bytes({.width = 1, .height = 1, .pixels = {1, 2, 3}})), "");
  EXPECT_EQ(fault_of("hello"), "dir/p.jpg: neither JPEG nor PNG");
  EXPECT_EQ(fault_of(""), "dir/p.jpg: the file is empty");
}

}  // namespace
}  // namespace mxc::io
