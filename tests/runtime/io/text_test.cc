#include "tests/runtime/io/source_test.h"

namespace mxc::io {
namespace {

using mxc::test::TempDir;

const std::vector<Field> kInputs = {{"text", plan::DType::i32, {4}, 128}, {"next", plan::DType::i32, {4}, 128}};

std::string string_of(const std::vector<int32_t>& bytes) { return std::string(bytes.begin(), bytes.end()); }

TEST(Text, WindowsAndTheirSuccessors) {
  TempDir dir;
  const std::string address = "text:" + dir.write("t.txt", "abcdefghijkl");
  auto data = open_data(address, kInputs);
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ(data->train->count(), 2);  // a third window would lack its last successor
  EXPECT_EQ(string_of(read_rows<int32_t>(*data->train, "text", {0, 1})), "abcdefgh");
  EXPECT_EQ(string_of(read_rows<int32_t>(*data->train, "next", {0, 1})), "bcdefghi");
  data = open_data(address + "?stride=1", kInputs);
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ(data->train->count(), 8);
  EXPECT_EQ(string_of(read_rows<int32_t>(*data->train, "next", {7})), "ijkl");
}

TEST(Text, Errors) {
  TempDir dir;
  const std::string path = dir.write("t.txt",
                                     "ab\xc3\xa9"
                                     "defg");
  EXPECT_EQ(error_of("text:" + path, kInputs), path + ": byte 2: text 195 is outside the model's classes [0, 128)");
  EXPECT_EQ(error_of("text:" + path + "?stride=0", kInputs),
            "text:" + path + "?stride=0: stride must be a positive whole number, not '0'");
  EXPECT_EQ(error_of("text:" + path, {floats("x", {2, 2})}),
            "text:" + path + ": no input of the model has one axis (the places in a text)");
  const std::string brief = dir.write("s.txt", "abcd");
  EXPECT_EQ(error_of("text:" + brief, kInputs), brief + ": the text has 4 bytes, a window of the model and its successor 5");
}

}  // namespace
}  // namespace mxc::io
