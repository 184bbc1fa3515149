// PNG by libpng. The library reports errors through a callback that must not return: it leaves by longjmp.
#include <png.h>

#include <csetjmp>
#include <cstring>

#include "runtime/io/picture_file.h"

namespace mxc::io {
namespace {

struct Reader {
  const std::string* bytes;
  size_t at = 0;
  std::jmp_buf leave;
  char text[200] = "";
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  auto* reader = static_cast<Reader*>(png_get_error_ptr(png));
  std::strncpy(reader->text, message, sizeof reader->text - 1);
  std::longjmp(reader->leave, 1);
}

void on_warning(png_structp, png_const_charp) {}

void read_bytes(png_structp png, png_bytep out, size_t count) {
  auto* reader = static_cast<Reader*>(png_get_io_ptr(png));
  if (count > reader->bytes->size() - reader->at) png_error(png, "the data end early");
  std::memcpy(out, reader->bytes->data() + reader->at, count);
  reader->at += count;
}

// What the picture is decoded with, which lies outside of the functions that on_error leaves: nothing in those has a destructor.
struct Room {
  std::vector<uint8_t*> rows;
  std::vector<uint8_t> indices;  // of a picture with a palette
};

// The colours of a palette, each with its alpha if the picture has a transparency. The library would read an index beyond the palette as
// whatever colour lies there.
void expand_palette(png_structp png, png_infop info, const std::vector<uint8_t>& indices, Picture* picture) {
  png_colorp colours = nullptr;
  png_bytep alpha = nullptr;
  int count = 0, alphas = 0;
  if (png_get_PLTE(png, info, &colours, &count) == 0) png_error(png, "it has no palette");
  png_get_tRNS(png, info, &alpha, &alphas, nullptr);
  picture->channels = alphas > 0 ? 4 : 3;
  picture->pixels.resize(indices.size() * picture->channels);
  uint8_t* out = picture->pixels.data();
  for (uint8_t index : indices) {
    if (index >= count) png_error(png, "a pixel's colour is not in its palette");
    *out++ = colours[index].red;
    *out++ = colours[index].green;
    *out++ = colours[index].blue;
    if (alphas > 0) *out++ = index < alphas ? alpha[index] : 255;
  }
}

// False if it left by on_error.
bool run(png_structp png, png_infop info, Reader* reader, Picture* picture, Room* room) {
  if (setjmp(reader->leave) != 0) return false;
  png_set_read_fn(png, reader, read_bytes);
  png_read_info(png, info);
  picture->width = png_get_image_width(png, info);
  picture->height = png_get_image_height(png, info);
  if (picture->width * picture->height > kMostPixels) png_error(png, "a picture of more than 2^28 pixels");
  const bool palette = png_get_color_type(png, info) == PNG_COLOR_TYPE_PALETTE;
  if (palette) {
    png_set_packing(png);  // indices of few bits to bytes
  } else {
    png_set_expand(png);  // few bits to eight, a transparent colour to alpha
    png_set_scale_16(png);
  }
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  picture->channels = png_get_channels(png, info);
  const int64_t row_bytes = picture->width * picture->channels;
  std::vector<uint8_t>& read = palette ? room->indices : picture->pixels;
  read.resize(picture->height * row_bytes);
  room->rows.resize(picture->height);
  for (int64_t y = 0; y < picture->height; ++y) room->rows[y] = read.data() + y * row_bytes;
  png_read_image(png, room->rows.data());
  png_read_end(png, nullptr);
  if (palette) expand_palette(png, info, room->indices, picture);
  return true;
}

}  // namespace

std::string decode_png(const std::string& bytes, Picture* picture) {
  Reader reader = {.bytes = &bytes, .leave = {}};
  Room room;
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, on_error, on_warning);
  png_infop info = png == nullptr ? nullptr : png_create_info_struct(png);
  const bool whole = info != nullptr && run(png, info, &reader, picture, &room);
  png_destroy_read_struct(&png, &info, nullptr);
  return whole ? "" : std::string("damaged PNG: ") + (reader.text[0] == '\0' ? "out of memory" : reader.text);
}

}  // namespace mxc::io
