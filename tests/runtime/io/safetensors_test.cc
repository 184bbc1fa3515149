#include "runtime/io/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/runtime/held_safetensors.h"
#include "tests/runtime/temp_dir.h"

namespace mxc::io {
namespace {

using mxc::test::contents_of;
using mxc::test::TempDir;

// A file of a header and data as the format says, made without the writer.
std::string file_of(const std::string& header, const std::string& data) {
  std::string out(8, '\0');
  const uint64_t length = header.size();
  std::memcpy(out.data(), &length, 8);
  return out + header + data;
}

TEST(Safetensors, ReadsTheFormat) {
  TempDir dir;
  const std::string path = dir.write(
      "a",
      file_of(
          R"({"__metadata__":{"step":"12"},"w":{"dtype":"F32","shape":[2,1],"data_offsets":[1,9]},"b":{"dtype":"U8","shape":[],"data_offsets":[0,1]},"e":{"dtype":"I64","shape":[0,3],"data_offsets":[9,9]}}   )",
          std::string("\x07\0\0\x80\x3f\0\0\0\x40", 9)));
  const auto file = test::read_held(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->metadata.at("step"), "12");
  ASSERT_NE(file->find("w"), nullptr);
  EXPECT_EQ(file->find("w")->shape, (std::vector<int64_t>{2, 1}));
  float values[2];
  std::memcpy(values, file->find("w")->bytes.data(), 8);
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(values[1], 2);
  EXPECT_EQ(file->find("b")->bytes, "\7");
  EXPECT_EQ(file->find("e")->shape, (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(file->find("x"), nullptr);
}

TEST(Safetensors, WritesTheFormat) {
  TempDir dir;
  TensorFile file;
  file.metadata = {{"b", "2"}, {"a", "1"}};
  file.tensors = {{"w", plan::DType::f32, {1}, std::string("\0\0\x80\x3f", 4)}, {"n \"q\"", plan::DType::boolean, {}, "\1"}};
  ASSERT_TRUE(write_safetensors(dir.file("a"), file).ok());
  std::string header =
      R"({"__metadata__":{"a":"1","b":"2"},"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"n \"q\"":{"dtype":"BOOL","shape":[],"data_offsets":[4,5]}})";
  header.append((8 - header.size() % 8) % 8, ' ');
  EXPECT_EQ(contents_of(dir.file("a")), file_of(header, std::string("\0\0\x80\x3f\1", 5)));
  const auto back = test::read_held(dir.file("a"));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->find("n \"q\"")->bytes, "\1");
}

TEST(Safetensors, TensorsAreReadInParts) {
  TempDir dir;
  std::string bytes(3'000'001 * 3, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 2654435761u >> 24);
  TensorFile held, parts;
  held.tensors = {{"w", plan::DType::u8, {3'000'001, 3}, bytes}, {"none", plan::DType::i32, {2, 0}, ""}};
  uint64_t longest = 0;
  const auto read = [&](uint64_t begin, uint64_t size, void* out) {
    EXPECT_EQ(begin % 3, 0u);
    longest = std::max(longest, size);
    std::memcpy(out, bytes.data() + begin, size);
    return absl::OkStatus();
  };
  parts.tensors = {{"w", plan::DType::u8, {3'000'001, 3}, {}, read, 3}, {"none", plan::DType::i32, {2, 0}, {}, read}};
  ASSERT_TRUE(write_safetensors(dir.file("held"), held).ok());
  ASSERT_TRUE(write_safetensors(dir.file("parts"), parts).ok());
  EXPECT_EQ(contents_of(dir.file("held")), contents_of(dir.file("parts")));
  EXPECT_LE(longest, 1u << 20);
  const auto file = read_safetensors(dir.file("parts"));
  ASSERT_TRUE(file.ok()) << file.status();
  std::string part(1000, '\0');
  ASSERT_TRUE(file->find("w")->get(12'345, 1000, part.data()).ok());
  EXPECT_EQ(part, bytes.substr(12'345, 1000));
}

TEST(Safetensors, AFileThatIsCutWhileItIsReadLeavesTheCopyAsItWas) {
  TempDir dir;
  TensorFile file;
  file.tensors = {{"w", plan::DType::u8, {100}, std::string(100, 'x')}};
  ASSERT_TRUE(write_safetensors(dir.file("a"), file).ok());
  ASSERT_TRUE(write_safetensors(dir.file("b"), file).ok());
  const std::string before = contents_of(dir.file("b"));
  const auto source = read_safetensors(dir.file("a"));
  ASSERT_TRUE(source.ok());
  std::filesystem::resize_file(dir.file("a"), before.size() - 10);
  EXPECT_EQ(write_safetensors(dir.file("b"), *source).message(),
            dir.file("a") + ": byte " + std::to_string(before.size() - 10) + ": the file ends early");
  EXPECT_EQ(contents_of(dir.file("b")), before);
}

TEST(Safetensors, NamesThatCannotBeWritten) {
  TempDir dir;
  TensorFile file;
  file.tensors = {{"w", plan::DType::u8, {1}, "a"}, {"v", plan::DType::u8, {1}, "b"}, {"w", plan::DType::u8, {1}, "c"}};
  EXPECT_EQ(write_safetensors(dir.file("a"), file).message(), dir.file("a") + ": two tensors are called 'w'");
  file.tensors = {{"__metadata__", plan::DType::u8, {1}, "a"}};
  for (int with_metadata = 0; with_metadata < 2; ++with_metadata) {
    EXPECT_EQ(write_safetensors(dir.file("a"), file).message(), dir.file("a") + ": a tensor cannot be called '__metadata__'");
    file.metadata = {{"a", "1"}};
  }
  file.tensors = {{"a\xff", plan::DType::u8, {1}, "a"}};
  EXPECT_EQ(write_safetensors(dir.file("a"), file).message(), dir.file("a") + ": the name 'a\\xff' is no UTF-8");
  EXPECT_FALSE(std::filesystem::exists(dir.file("a")));
}

TEST(Safetensors, Faults) {
  TempDir dir;
  const auto error = [&](const std::string& contents) {
    const std::string path = dir.write("f", contents);
    std::string text(read_safetensors(path).status().message());
    EXPECT_EQ(text.rfind(path + ": ", 0), 0u) << text;
    return text.substr(path.size() + 2);
  };
  const auto entry = [](const std::string& name, const std::string& rest) {
    return "\"" + name + "\":{\"dtype\":\"U8\"," + rest + "}";
  };
  EXPECT_EQ(read_safetensors(dir.file("none")).status().message(), dir.file("none") + ": No such file or directory");
  EXPECT_EQ(error("abc"), "byte 3: the file ends early");
  EXPECT_EQ(error("pickle!!pickle"), "byte 0: this is no safetensors file");
  EXPECT_EQ(error(file_of("{}", "").substr(0, 9)), "byte 9: the header ends early");
  EXPECT_EQ(error(file_of("[1]", "")), "byte 8: the header is no JSON object");
  EXPECT_EQ(error(file_of("{\"a\":", "")), "byte 8: the header is no JSON object");
  EXPECT_EQ(error(file_of("{" + entry("a", "\"shape\":[2],\"data_offsets\":[0,2]") + "," +
                              entry("a", "\"shape\":[0],\"data_offsets\":[2,2]") + "}",
                          "xy")),
            "tensor 'a' is there twice");
  EXPECT_EQ(error(file_of("{\"a\":{\"dtype\":\"C64\",\"shape\":[],\"data_offsets\":[0,8]}}", "12345678")), "tensor 'a': dtype C64");
  EXPECT_EQ(error(file_of("{" + entry("a", "\"data_offsets\":[0,2]") + "}", "xy")),
            "tensor 'a': dtype, shape or data_offsets are missing");
  EXPECT_EQ(error(file_of("{" + entry("a", "\"shape\":[-1],\"data_offsets\":[0,2]") + "}", "xy")),
            "tensor 'a': the shape holds something that is no size");
  EXPECT_EQ(error(file_of("{" + entry("a", "\"shape\":[4294967296,4294967296],\"data_offsets\":[0,2]") + "}", "xy")),
            "tensor 'a': the shape is impossible");
  EXPECT_EQ(error(file_of("{" + entry("a", "\"shape\":[2],\"data_offsets\":[0]") + "}", "xy")),
            "tensor 'a': data_offsets must be two sizes");
  EXPECT_EQ(error(file_of("{" + entry("a", "\"shape\":[3],\"data_offsets\":[0,2]") + "}", "xy")),
            "tensor 'a': data_offsets [0, 2] do not hold the 3 bytes of its dtype and shape");
  EXPECT_EQ(error(file_of("{" + entry("a", "\"shape\":[3],\"data_offsets\":[0,3]") + "}", "xy")),
            "tensor 'a': its data end at byte 3, the file has only 2 bytes of data");
  const std::string a = entry("a", "\"shape\":[2],\"data_offsets\":[0,2]");
  EXPECT_EQ(error(file_of("{" + a + "," + entry("b", "\"shape\":[2],\"data_offsets\":[1,3]") + "}", "xyz")),
            "tensor 'b': its data start at byte 1, inside another tensor's; expected 2");
  EXPECT_EQ(error(file_of("{" + a + "," + entry("b", "\"shape\":[1],\"data_offsets\":[3,4]") + "}", "xyzw")),
            "tensor 'b': its data start at byte 3, after a gap; expected 2");
  EXPECT_EQ(error(file_of("{" + a + "}", "xyz")), "byte 2 of the data: 1 bytes belong to no tensor");
  EXPECT_EQ(error(file_of("{\"__metadata__\":{\"step\":12}}", "")), "metadata 'step' is no string");
}

// Any cut or flipped bit of a file gives an error or tensors, never more.
TEST(Safetensors, SurvivesDamage) {
  TempDir dir;
  const std::string good =
      file_of(R"({"__metadata__":{"step":"12"},"w":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}})", "12345678");
  for (size_t i = 0; i < good.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      (void)read_safetensors(dir.write("bad", bad));
    }
    EXPECT_FALSE(read_safetensors(dir.write("cut", good.substr(0, i))).ok());
  }
}

// A file written by another implementation: a small convolutional net trained on MNIST.
TEST(Safetensors, FileOfAnotherImplementation) {
  const std::string path = MXC_SHARED_DATA "/safetensors/mnist.safetensors";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "NOT RUN: " << path << " is absent";
  const auto file = test::read_held(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_FALSE(file->tensors.empty());
  TempDir dir;
  ASSERT_TRUE(write_safetensors(dir.file("again"), *file).ok());
  const auto again = test::read_held(dir.file("again"));
  ASSERT_TRUE(again.ok()) << again.status();
  for (const Tensor& tensor : file->tensors) EXPECT_EQ(again->find(tensor.name)->bytes, tensor.bytes);
}

}  // namespace
}  // namespace mxc::io
