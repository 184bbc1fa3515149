#include "runtime/io/read_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "tests/runtime/gzip_text.h"
#include "tests/runtime/temp_dir.h"

namespace mxc::io {
namespace {

using mxc::test::gzip;
using mxc::test::TempDir;

TEST(ReadFile, PlainAndGzipByContent) {
  TempDir dir;
  std::string text;
  for (int i = 0; i < 100000; ++i) text += static_cast<char>(i * 7 % 251);
  EXPECT_EQ(*read_file_unpacked(dir.write("plain.gz", text)), text);  // the name does not decide
  EXPECT_EQ(*read_file_unpacked(dir.write("packed", gzip(text))), text);
  EXPECT_EQ(*read_file_unpacked(dir.write("two", gzip(text) + gzip("tail"))), text + "tail");
  EXPECT_EQ(*read_file_unpacked(dir.write("padded", gzip(text) + std::string(700, '\0'))), text);
  EXPECT_EQ(*read_file_unpacked(dir.write("empty", "")), "");
  EXPECT_EQ(*read_file_unpacked(dir.write("packed-empty", gzip(""))), "");
}

TEST(ReadFile, Faults) {
  TempDir dir;
  const std::string packed = gzip(std::string(1000, 'x') + "end");
  EXPECT_EQ(read_file(dir.file("none")).status().message(), dir.file("none") + ": No such file or directory");
  EXPECT_EQ(read_file(dir.path()).status().message(), dir.path() + ": Is a directory");
  const std::string cut = dir.write("cut", packed.substr(0, packed.size() - 9));
  EXPECT_EQ(read_file_unpacked(cut).status().message(),
            cut + ": byte " + std::to_string(packed.size() - 9) + ": compressed data end early");
  for (const std::string& rest : {std::string("x"), std::string("\0\0x", 3)}) {  // more than padding
    EXPECT_FALSE(read_file_unpacked(dir.write("rest", packed + rest)).ok());
  }
  std::string bad = packed;
  bad[bad.size() - 6] ^= 1;  // the checksum
  EXPECT_NE(read_file_unpacked(dir.write("bad", bad)).status().message().find("compressed data are damaged"), std::string::npos);
}

TEST(OpenFile, IsReadInPlaces) {
  TempDir dir;
  const auto file = OpenFile::open(dir.write("a", "0123456789"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->size(), 10u);
  char out[4] = {};
  ASSERT_TRUE((*file)->read(6, 4, out).ok());
  EXPECT_EQ(std::string(out, 4), "6789");
  EXPECT_EQ((*file)->read(8, 4, out).message(), dir.file("a") + ": byte 10: the file ends early");
  EXPECT_EQ(OpenFile::open(dir.file("none")).status().message(), dir.file("none") + ": No such file or directory");
  EXPECT_EQ(OpenFile::open(dir.path()).status().message(), dir.path() + ": Is a directory");
}

TEST(OpenFile, APipeIsReadWhole) {
  TempDir dir;
  const std::string pipe = dir.file("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << "0123456789"; });
  const auto file = OpenFile::open(pipe);
  writer.join();
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->size(), 10u);
  char out[4] = {};
  ASSERT_TRUE((*file)->read(6, 4, out).ok());
  EXPECT_EQ(std::string(out, 4), "6789");
  EXPECT_EQ((*file)->read(8, 4, out).message(), pipe + ": byte 8: the file ends early");
}

TEST(ReadFile, RawDeflateOfAFalseSize) {
  EXPECT_EQ(inflate_raw("\x03\x00", 2, 0, "x")->size(), 0u);
  EXPECT_EQ(inflate_raw("\x03\x00", 2, 5, "x").status().message(), "x: unpacks to 0 bytes, not 5");
  EXPECT_EQ(inflate_raw("\x03\x00", 2, uint64_t{1} << 40, "x").status().message(), "x: the stated size is impossible");
}

}  // namespace
}  // namespace mxc::io
