// JPEG by libjpeg-turbo, whose results do not depend on the processor. The library reports faults through callbacks: an error leaves
// by longjmp, and so does a warning that means missing or damaged data, which the library would paint over in grey.
#include <csetjmp>
#include <cstddef>
#include <cstdio>

#include <jpeglib.h>
// After jpeglib.h:
#include <jerror.h>

#include "runtime/io/picture_file.h"

namespace mxc::io {
namespace {

struct ErrorManager {
  jpeg_error_mgr base;  // first: the library knows only this
  std::jmp_buf leave;
  char text[JMSG_LENGTH_MAX];
};

[[noreturn]] void leave(j_common_ptr info) {
  auto* errors = reinterpret_cast<ErrorManager*>(info->err);
  errors->base.format_message(info, errors->text);
  std::longjmp(errors->leave, 1);
}

void on_message(j_common_ptr info, int level) {
  // Bytes between two segments harm nothing.
  if (level < 0 && info->err->msg_code != JWRN_EXTRANEOUS_DATA) leave(info);
}

// False if it left by `leave`. Nothing in here has a destructor.
bool run(jpeg_decompress_struct* info, ErrorManager* errors, const std::string& bytes, int channels, Picture* picture) {
  if (setjmp(errors->leave) != 0) return false;
  jpeg_create_decompress(info);
  jpeg_mem_src(info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(info, TRUE);
  picture->width = info->image_width;
  picture->height = info->image_height;
  picture->channels = info->num_components;
  if (info->num_components == 4 || picture->width * picture->height > kMostPixels) return true;
  info->out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  info->dct_method = JDCT_ISLOW;
  jpeg_start_decompress(info);
  picture->channels = info->output_components;
  picture->pixels.resize(picture->width * picture->height * picture->channels);
  while (info->output_scanline < info->output_height) {
    JSAMPROW row = picture->pixels.data() + int64_t{info->output_scanline} * picture->width * picture->channels;
    jpeg_read_scanlines(info, &row, 1);
  }
  jpeg_finish_decompress(info);
  return true;
}

}  // namespace

std::string decode_jpeg(const std::string& bytes, int channels, Picture* picture) {
  jpeg_decompress_struct info = {};
  ErrorManager errors;
  info.err = jpeg_std_error(&errors.base);
  errors.base.error_exit = leave;
  errors.base.emit_message = on_message;
  const bool whole = run(&info, &errors, bytes, channels, picture);
  jpeg_destroy_decompress(&info);
  if (!whole) return std::string("damaged JPEG: ") + errors.text;
  if (picture->channels == 4) return "a JPEG of four channels (CMYK); grey and coloured ones can be read";
  if (picture->width * picture->height > kMostPixels) return "a picture of more than 2^28 pixels";
  return "";
}

}  // namespace mxc::io
