#include "runtime/io/printable.h"

#include <gtest/gtest.h>

namespace mxc::io {
namespace {

TEST(Printable, TextStays) {
  EXPECT_EQ(printable("a, 'b' \\ \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"), "a, 'b' \\ \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, ControlCharactersAndOtherBytesAreEscaped) {
  EXPECT_EQ(printable("a\nb\tc\rd"), "a\\nb\\tc\\x0dd");
  EXPECT_EQ(printable(std::string("\0\x1b[31m\x7f", 7)), "\\x00\\x1b[31m\\x7f");
  EXPECT_EQ(printable("\xff\xfe\xe4z"), "\\xff\\xfe\\xe4z");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");          // U+009B begins a terminal's commands
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");          // '/' in two bytes
  EXPECT_EQ(printable("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");  // and in three
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // half a surrogate pair
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond U+10FFFF
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82");          // cut short
}

TEST(Printable, LongTextIsCutBetweenCharacters) {
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdefg", 6), "abcdef...");
  EXPECT_EQ(printable("abc\xe2\x82\xac", 5), "abc...");
  EXPECT_EQ(printable("\n\n\n", 2), "\\n\\n...");
}

TEST(Printable, Utf8) {
  for (const char* good : {"", "a\n\x7f", "gr\xc3\xb6\xc3\x9f" "e", "\xc2\x9b", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}) EXPECT_TRUE(is_utf8(good)) << good;
  for (const char* bad : {"\xff\xfe", "a\xe4z", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\xc2"})
    EXPECT_FALSE(is_utf8(bad)) << bad;
}

}  // namespace
}  // namespace mxc::io
