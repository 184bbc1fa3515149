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

// False if it left by on_error. Nothing in here has a destructor: `rows` is the caller's.
bool run(png_structp png, png_infop info, Reader* reader, Picture* picture, std::vector<uint8_t*>* rows) {
  if (setjmp(reader->leave) != 0) return false;
  png_set_read_fn(png, reader, read_bytes);
  png_read_info(png, info);
  picture->width = png_get_image_width(png, info);
  picture->height = png_get_image_height(png, info);
  if (picture->width * picture->height > kMostPixels) png_error(png, "a picture of more than 2^28 pixels");
  png_set_expand(png);  // palettes to colours, few bits to eight, a transparent colour to alpha
  png_set_scale_16(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  picture->channels = png_get_channels(png, info);
  const int64_t row_bytes = picture->width * picture->channels;
  picture->pixels.resize(picture->height * row_bytes);
  rows->resize(picture->height);
  for (int64_t y = 0; y < picture->height; ++y) (*rows)[y] = picture->pixels.data() + y * row_bytes;
  png_read_image(png, rows->data());
  png_read_end(png, nullptr);
  return true;
}

}  // namespace

std::string decode_png(const std::string& bytes, Picture* picture) {
  Reader reader = {.bytes = &bytes, .leave = {}};
  std::vector<uint8_t*> rows;
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, on_error, on_warning);
  png_infop info = png == nullptr ? nullptr : png_create_info_struct(png);
  const bool whole = info != nullptr && run(png, info, &reader, picture, &rows);
  png_destroy_read_struct(&png, &info, nullptr);
  return whole ? "" : std::string("damaged PNG: ") + (reader.text[0] == '\0' ? "out of memory" : reader.text);
}

}  // namespace mxc::io
