#include "tests/runtime/gzip_text.h"
#include "tests/runtime/io/source_test.h"

namespace mxc::io {
namespace {

using mxc::test::TempDir;

// A record: labels, then 3072 bytes that count up from `first`.
std::string record(const std::string& labels, int first) {
  std::string out = labels;
  for (int i = 0; i < 3072; ++i) out += static_cast<char>(first + i);
  return out;
}

const std::vector<Field> kInputs = {floats("image", {3, 32, 32}), classes("label", 10)};

TEST(Cifar, TenClasses) {
  TempDir dir;
  for (int i = 1; i <= 5; ++i) {
    const std::string name = "data_batch_" + std::to_string(i) + ".bin";
    const std::string bytes = record(std::string(1, static_cast<char>(i)), i) + record(std::string(1, '\0'), 0);
    i == 3 ? dir.write(name + ".gz", mxc::test::gzip(bytes)) : dir.write(name, bytes);
  }
  dir.write("test_batch.bin", record("\x9", 200));
  auto data = open_data("cifar10:" + dir.path(), kInputs);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->train->count(), 10);
  EXPECT_EQ(data->test->count(), 1);
  EXPECT_EQ(read_rows<int32_t>(*data->train, "label", {0, 2, 4, 6, 8, 9}), (std::vector<int32_t>{1, 2, 3, 4, 5, 0}));
  const std::vector<float> image = read_rows<float>(*data->train, "image", {4});
  for (int i : {0, 1, 1024, 3071}) EXPECT_FLOAT_EQ(image[i], static_cast<float>((3 + i) % 256) / 255.0f);
  // The label of the second record of the second file lies at byte 3073.
  EXPECT_EQ(error_of("cifar10:" + dir.path(), {kInputs[0], classes("label", 4)}),
            dir.file("data_batch_4.bin") + ": byte 0: label 4 is outside the model's classes [0, 4)");
  dir.write("data_batch_2.bin", record("\1", 0) + record("\7", 0));
  EXPECT_EQ(error_of("cifar10:" + dir.path(), {kInputs[0], classes("label", 6)}),
            dir.file("data_batch_2.bin") + ": byte 3073: label 7 is outside the model's classes [0, 6)");
  dir.write("data_batch_2.bin", record("\1", 0) + "x");
  EXPECT_EQ(error_of("cifar10:" + dir.path(), kInputs),
            dir.file("data_batch_2.bin") + ": byte 3074: the file ends inside a record; records have 3073 bytes");
  std::filesystem::remove(dir.file("data_batch_2.bin"));
  EXPECT_EQ(error_of("cifar10:" + dir.path(), kInputs), dir.file("data_batch_2.bin") + ": No such file or directory");
}

TEST(Cifar, HundredClassesAndTheCoarseOnes) {
  TempDir dir;
  dir.write("train.bin", record("\3\x63", 0) + record("\4\x05", 1));
  auto data = open_data("cifar100:" + dir.path(), {floats("image", {3, 32, 32}), classes("y", 100)});
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->test, nullptr);
  EXPECT_EQ(read_rows<int32_t>(*data->train, "y", {0, 1}), (std::vector<int32_t>{99, 5}));
  auto coarse = open_data("cifar100:" + dir.path() + "?y=coarse_label", {floats("image", {3, 32, 32}), classes("y", 20)});
  ASSERT_TRUE(coarse.ok()) << coarse.status();
  EXPECT_EQ(read_rows<int32_t>(*coarse->train, "y", {0, 1}), (std::vector<int32_t>{3, 4}));
}

}  // namespace
}  // namespace mxc::io
