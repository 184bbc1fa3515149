// Small pictures for tests, written by libpng and libjpeg themselves.
#pragma once

#include <png.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <jpeglib.h>

namespace mxc::test {

// `pixels` are row by row; with 16 bits the more significant byte of each comes first. Palettes: indices into `palette`.
struct Png {
  int width = 0, height = 0, bits = 8;
  int type = PNG_COLOR_TYPE_RGB;
  std::vector<uint8_t> pixels;
  std::vector<png_color> palette = {};
  std::vector<uint8_t> alphas = {};  // of the palette's first colours
  bool interlaced = false;
};

inline std::string png_bytes(const Png& picture) {
  std::string out;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &out,
      [](png_structp p, png_bytep data, size_t n) {
        static_cast<std::string*>(png_get_io_ptr(p))->append(reinterpret_cast<char*>(data), n);
      },
      [](png_structp) {});
  png_set_IHDR(png, info, picture.width, picture.height, picture.bits, picture.type,
               picture.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_set_check_for_invalid_index(png, 0);  // tests write some
  if (!picture.palette.empty()) png_set_PLTE(png, info, picture.palette.data(), static_cast<int>(picture.palette.size()));
  if (!picture.alphas.empty()) png_set_tRNS(png, info, picture.alphas.data(), static_cast<int>(picture.alphas.size()), nullptr);
  png_write_info(png, info);
  const size_t row_bytes = png_get_rowbytes(png, info);
  std::vector<png_bytep> rows;
  for (int y = 0; y < picture.height; ++y) rows.push_back(const_cast<png_bytep>(picture.pixels.data()) + y * row_bytes);
  png_write_image(png, rows.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return out;
}

inline std::string png_rgb(int width, int height, std::vector<uint8_t> pixels) {
  return png_bytes({.width = width, .height = height, .pixels = std::move(pixels)});
}

// `space`: JCS_GRAYSCALE (1 number a pixel), JCS_RGB (3) or JCS_CMYK (4). Colours are kept at full resolution.
inline std::string jpeg_bytes(int width, int height, J_COLOR_SPACE space, const std::vector<uint8_t>& pixels, int quality = 95) {
  jpeg_compress_struct info;
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &memory, &size);
  info.image_width = width;
  info.image_height = height;
  info.input_components = space == JCS_GRAYSCALE ? 1 : space == JCS_CMYK ? 4 : 3;
  info.in_color_space = space;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  for (int c = 0; c < info.num_components; ++c) info.comp_info[c].h_samp_factor = info.comp_info[c].v_samp_factor = 1;
  jpeg_start_compress(&info, TRUE);
  for (int y = 0; y < height; ++y) {
    JSAMPROW row = const_cast<JSAMPROW>(pixels.data()) + y * width * info.input_components;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  std::string out(reinterpret_cast<char*>(memory), size);
  jpeg_destroy_compress(&info);
  std::free(memory);
  return out;
}

}  // namespace mxc::test
