#include <cmath>

#include "tests/runtime/gzip_text.h"
#include "tests/runtime/io/source_test.h"

namespace mxc::io {
namespace {

using mxc::test::gzip;
using mxc::test::TempDir;

std::string header(std::initializer_list<uint32_t> words) {
  std::string out;
  for (uint32_t word : words) {
    for (int shift : {24, 16, 8, 0}) out += static_cast<char>(word >> shift);
  }
  return out;
}

// Three pictures of 2x3 pixels, labels 0 1 2.
struct Files {
  TempDir dir;
  std::string images = header({0x803, 3, 2, 3}), labels = header({0x801, 3}) + std::string("\0\1\2", 3);
  Files() {
    for (int i = 0; i < 18; ++i) images += static_cast<char>(i * 15);
  }
  std::string address() const { return "mnist:" + dir.path(); }
  void write() const {
    dir.write("train-images-idx3-ubyte", images);
    dir.write("train-labels-idx1-ubyte.gz", gzip(labels));
  }
};

const std::vector<Field> kInputs = {floats("image", {1, 2, 3}), classes("label", 3)};

TEST(Mnist, PicturesAndLabels) {
  Files files;
  files.write();
  auto data = open_data(files.address(), kInputs);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->test, nullptr);
  ASSERT_EQ(data->train->count(), 3);
  EXPECT_EQ(read_rows<int32_t>(*data->train, "label", {2, 0, 2}), (std::vector<int32_t>{2, 0, 2}));
  const std::vector<float> image = read_rows<float>(*data->train, "image", {2});
  for (int i = 0; i < 6; ++i) EXPECT_FLOAT_EQ(image[i], static_cast<float>((12 + i) * 15) / 255.0f);
}

TEST(Mnist, TestPartNamesShapesAndScale) {
  Files files;
  files.write();
  files.dir.write("t10k-images-idx3-ubyte.gz", gzip(header({0x803, 1, 2, 3}) + "abcdef"));
  files.dir.write("t10k-labels-idx1-ubyte", header({0x801, 1}) + "\1");
  // Inputs of other names and a flat shape; f64; the label by its type, the picture by its shape.
  auto data = open_data(files.address() + "?scale=1", {{"x", plan::DType::f64, {6}, 0, false}, classes("y", 3)});
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_NE(data->test, nullptr);
  EXPECT_EQ(read_rows<double>(*data->test, "x", {0}), (std::vector<double>{97, 98, 99, 100, 101, 102}));
  EXPECT_EQ(read_rows<int32_t>(*data->test, "y", {0}), std::vector<int32_t>{1});
  auto named = open_data(files.address() + "?a=label&b=image", {{"a", plan::DType::i64, {}, 0, false}, floats("b", {2, 3})});
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_EQ(read_rows<int64_t>(*named->train, "a", {1}), std::vector<int64_t>{1});
}

TEST(Mnist, Faults) {
  Files files;
  const std::string images = files.dir.file("train-images-idx3-ubyte"), labels = files.dir.file("train-labels-idx1-ubyte.gz");
  EXPECT_EQ(error_of(files.address(), kInputs), images + ": no such file, with or without .gz");
  files.write();
  EXPECT_EQ(error_of(files.address(), {floats("image", {1, 3, 3}), classes("label", 3)}),
            files.address() + ": field 'image' has shape 1x2x3, the model's input 'image' wants 1x3x3");
  EXPECT_EQ(error_of(files.address(), {floats("x", {1, 3, 3}), classes("label", 3)}),
            files.address() + ": no field for the model's input 'x' (1x3x3 f32); fields: image (1x2x3), label (scalar)");
  EXPECT_EQ(error_of(files.address(), {floats("image", {1, 2, 3}), classes("label", 2)}),
            labels + ": byte 10: label 2 is outside the model's classes [0, 2)");
  EXPECT_EQ(
      error_of(files.address() + "?labl=label", kInputs),
      files.address() + "?labl=label: unknown parameter 'labl'; known: scale, holdout, holdout_seed, image (input), label (input)");
  EXPECT_EQ(error_of(files.address() + "?label=lable", kInputs),
            files.address() + "?label=lable: there is no field 'lable'; fields: image (1x2x3), label (scalar)");
  EXPECT_EQ(error_of(files.address() + "?scale=0", kInputs),
            files.address() + "?scale=0: scale must be a positive number, not '0'");

  files.dir.write("train-labels-idx1-ubyte.gz", gzip(files.labels.substr(0, 10)));
  EXPECT_EQ(error_of(files.address(), kInputs), labels + ": byte 10: the file should end at byte 11");
  files.dir.write("train-labels-idx1-ubyte.gz", gzip(header({0x801, 2}) + std::string("\0\1", 2)));
  EXPECT_EQ(error_of(files.address(), kInputs), files.address() + ": field 'image' has 3 samples, 'label' has 2");
  files.dir.write("train-labels-idx1-ubyte.gz", gzip(files.images));
  EXPECT_EQ(error_of(files.address(), kInputs), labels + ": byte 0: wrong magic number, expected 0x00000801, found 0x00000803");
  files.dir.write("train-images-idx3-ubyte", files.images.substr(0, 7));
  EXPECT_EQ(error_of(files.address(), kInputs), images + ": byte 7: the header ends early");
  files.dir.write("train-images-idx3-ubyte", header({0x803, 0, 0x80000000, 0x80000000}));
  EXPECT_EQ(error_of(files.address(), kInputs), images + ": byte 8: pictures of impossible size 1x2147483648x2147483648");
  files.dir.write("train-images-idx3-ubyte", "");
  EXPECT_EQ(error_of(files.address(), kInputs), images + ": byte 0: wrong magic number, expected 0x00000803");
}

// The real files: counts and the published numbers of each digit in the 60,000 training labels.
TEST(Mnist, RealFiles) {
  const std::string dir = MXC_SHARED_DATA "/mnist";
  if (!std::filesystem::exists(dir)) GTEST_SKIP() << "NOT RUN: " << dir << " is absent";
  auto data = open_data("mnist:" + dir, {floats("image", {1, 28, 28}), classes("label", 10)});
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ(data->train->count(), 60000);
  ASSERT_EQ(data->test->count(), 10000);
  std::vector<int64_t> rows(60000);
  for (int i = 0; i < 60000; ++i) rows[i] = i;
  std::vector<int> seen(10, 0);
  for (int32_t label : read_rows<int32_t>(*data->train, "label", rows)) seen[label]++;
  EXPECT_EQ(seen, (std::vector<int>{5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949}));
  // The mean of all training pixels is widely published as 0.1307.
  double sum = 0;
  for (float pixel : read_rows<float>(*data->train, "image", rows)) sum += pixel;
  EXPECT_NEAR(sum / (60000.0 * 784), 0.1307, 5e-5);
}

}  // namespace
}  // namespace mxc::io
