// See printable.h.
#include "runtime/io/printable.h"

#include <cstdio>

namespace mxc::io {
namespace {

bool within(unsigned char byte, int low, int high) { return low <= byte && byte <= high; }

// The bytes of the character at `at`; 0 if it is a control character or no well-formed UTF-8.
size_t character(const std::string& text, size_t at) {
  const auto byte = [&](size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0; };
  const unsigned char first = byte(0), second = byte(1);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  if (within(first, 0xc2, 0xdf)) return within(second, first == 0xc2 ? 0xa0 : 0x80, 0xbf) ? 2 : 0;  // U+0080 to 9F: control
  // The shortest form alone, and no half of a surrogate pair.
  if (within(first, 0xe0, 0xef)) {
    const bool good = within(second, first == 0xe0 ? 0xa0 : 0x80, first == 0xed ? 0x9f : 0xbf);
    return good && within(byte(2), 0x80, 0xbf) ? 3 : 0;
  }
  if (within(first, 0xf0, 0xf4)) {
    const bool good = within(second, first == 0xf0 ? 0x90 : 0x80, first == 0xf4 ? 0x8f : 0xbf);
    return good && within(byte(2), 0x80, 0xbf) && within(byte(3), 0x80, 0xbf) ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::string printable(const std::string& text, size_t most) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t length = character(text, at);
    if (at + (length == 0 ? 1 : length) > most) return out + "...";
    if (length > 0) {
      out.append(text, at, length);
      at += length;
      continue;
    }
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned char>(text[at]));
    out += text[at] == '\n' ? "\\n" : text[at] == '\t' ? "\\t" : escape;
    at += 1;
  }
  return out;
}

bool is_utf8(const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at]);
    const bool control = first == 0xc2 && at + 1 < text.size() && within(static_cast<unsigned char>(text[at + 1]), 0x80, 0x9f);
    const size_t length = first < 0x80 ? 1 : control ? 2 : character(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

}  // namespace mxc::io
