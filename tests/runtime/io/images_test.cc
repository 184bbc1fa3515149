#include "tests/runtime/io/picture_writer.h"
#include "tests/runtime/io/source_test.h"

namespace mxc::io {
namespace {

using mxc::test::jpeg_bytes;
using mxc::test::png_bytes;
using mxc::test::png_rgb;
using mxc::test::TempDir;

const std::vector<Field> kInputs = {floats("image", {3, 2, 2}), classes("label", 10)};

// A picture of 2x2 pixels: red r, r+1, r+2, r+3, green 50, blue 100.
std::string square(int r) {
  std::vector<uint8_t> pixels;
  for (int i = 0; i < 4; ++i) pixels.insert(pixels.end(), {static_cast<uint8_t>(r + i), 50, 100});
  return png_rgb(2, 2, pixels);
}

class Images : public testing::Test {
 protected:
  void add(const std::string& name, const std::string& bytes) {
    std::filesystem::create_directories(std::filesystem::path(dir_.file(name)).parent_path());
    dir_.write(name, bytes);
  }
  std::string address(const std::string& parameters = "") const { return "images:" + dir_.path() + parameters; }
  std::string error(const std::string& parameters = "") const { return error_of(address(parameters), kInputs); }

  TempDir dir_;
};

TEST_F(Images, ClassFoldersInTheOrderOfTheirNames) {
  add("cat/b.png", square(20));
  add("cat/a.PNG", square(10));
  add("ant/z.png", square(30));
  add(".hidden/x.png", "no picture");
  add("cat/.DS_Store", "no picture");
  const auto data = open_data(address(), kInputs);
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ(data->train->count(), 3);
  EXPECT_EQ(data->test, nullptr);
  EXPECT_EQ(read_rows<int32_t>(*data->train, "label", {0, 1, 2}), (std::vector<int32_t>{0, 1, 1}));
  const std::vector<float> image = read_rows<float>(*data->train, "image", {2, 0});
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(image[i], static_cast<float>((20 + i) / 255.0));
    EXPECT_EQ(image[4 + i], static_cast<float>(50 / 255.0));
    EXPECT_EQ(image[8 + i], static_cast<float>(100 / 255.0));
    EXPECT_EQ(image[12 + i], static_cast<float>((30 + i) / 255.0));
  }
}

TEST_F(Images, NumbersAreNormalised) {
  add("a/p.png", square(20));
  auto data = open_data(address("?scale=10&mean=1,2,3&std=2,5,0.5"), kInputs);
  ASSERT_TRUE(data.ok()) << data.status();
  std::vector<float> image = read_rows<float>(*data->train, "image", {0});
  EXPECT_EQ(image[3], static_cast<float>((2.3 - 1) / 2));
  EXPECT_EQ(image[4], static_cast<float>((5.0 - 2) / 5));
  EXPECT_EQ(image[8], static_cast<float>((10.0 - 3) / 0.5));
  data = open_data(address("?scale=1&mean=20"), kInputs);
  ASSERT_TRUE(data.ok()) << data.status();
  image = read_rows<float>(*data->train, "image", {0});
  EXPECT_EQ(image[3], 3);
  EXPECT_EQ(image[4], 30);
}

TEST_F(Images, OtherTypesAndShapesOfInput) {
  add("a/p.png", square(20));
  const std::vector<uint8_t> bytes = {20, 21, 22, 23, 50, 50, 50, 50, 100, 100, 100, 100};
  auto data = open_data(address(), {{"pixels", plan::DType::u8, {3, 2, 2}}});
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(read_rows<uint8_t>(*data->train, "pixels", {0}), bytes);
  data = open_data(address("?scale=1"), {{"image", plan::DType::f64, {3, 2, 2}}});
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(read_rows<double>(*data->train, "image", {0}), std::vector<double>(bytes.begin(), bytes.end()));
  data = open_data(address("?scale=1&size=2x2"), {floats("image", {12}), floats("label", {})});
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(read_rows<float>(*data->train, "image", {0}), std::vector<float>(bytes.begin(), bytes.end()));
  EXPECT_EQ(read_rows<float>(*data->train, "label", {0}), std::vector<float>{0});
  // One channel: 0.299 * 20 + 0.587 * 50 + 0.114 * 100 = 46.7.
  data = open_data(address("?scale=1&size=2x2"), {floats("image", {2, 2})});
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(read_rows<float>(*data->train, "image", {0})[0], 47);
  // The same picture for two inputs.
  data = open_data(address("?scale=1&target=image"), {floats("image", {3, 2, 2}), floats("target", {3, 2, 2})});
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(read_rows<float>(*data->train, "target", {0}), read_rows<float>(*data->train, "image", {0}));
}

TEST_F(Images, TrainAndTestFolders) {
  add("train/a/1.png", square(1));
  add("train/b/2.png", square(2));
  add("test/b/3.png", square(3));
  auto data = open_data(address(), kInputs);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->train->count(), 2);
  ASSERT_NE(data->test, nullptr);
  EXPECT_EQ(read_rows<int32_t>(*data->test, "label", {0}), std::vector<int32_t>{1});
  add("test/c/4.png", square(4));
  EXPECT_EQ(error(), dir_.file("test/c") + ": the training part has no class of this name");
  // With a held-out part of the training pictures, the test folder is not looked at.
  data = open_data(address("?holdout=0.5"), kInputs);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->train->count(), 1);
  EXPECT_EQ(data->test->count(), 1);
}

TEST_F(Images, PicturesWithoutLabels) {
  add("1.png", square(1));
  add("2.png", square(2));
  const auto data = open_data(address(), {kInputs[0]});
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->train->count(), 2);
  EXPECT_EQ(error(), address() + ": no field for the model's input 'label' (scalar i32); fields: image (3x2x2)");
}

TEST_F(Images, ListFile) {
  add("pictures/a b.png", square(1));
  add("pictures/c.png", square(2));
  const std::string list = dir_.write("list.txt", "pictures/a b.png 7\n\npictures/c.png\t3\r\npictures/c.png,0\n");
  auto data = open_data("images:" + list, kInputs);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(read_rows<int32_t>(*data->train, "label", {0, 1, 2}), (std::vector<int32_t>{7, 3, 0}));
  EXPECT_EQ(error_of("images:" + list, {kInputs[0], classes("label", 5)}),
            list + ":1: label 7 is outside the model's classes [0, 5)");
  const std::string other = dir_.write("other.txt", "c.png 0.25\n");
  data = open_data("images:" + other + "?root=" + dir_.file("pictures"), {kInputs[0], floats("label", {})});
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(read_rows<float>(*data->train, "label", {0}), std::vector<float>{0.25f});
}

TEST_F(Images, ErrorsOfListFiles) {
  add("c.png", square(2));
  const auto error_in = [&](const std::string& text) {
    const std::string list = dir_.write("l.txt", text);
    const std::string fault = error_of("images:" + list, kInputs);
    EXPECT_EQ(fault.find(list), 0u) << fault;
    return fault.substr(list.size());
  };
  EXPECT_EQ(error_in("c.png 1\nc.png\n"), ":2: expected PATH LABEL, got 'c.png'");
  EXPECT_EQ(error_in("c.png one\n"), ":1: the label 'one' is not a number");
  EXPECT_EQ(error_in("c.png nan\n"), ":1: the label 'nan' is not a number");
  EXPECT_EQ(error_in("c.gif 1\n"), ":1: c.gif: not the name of a picture; known are .jpg, .jpeg and .png");
  EXPECT_EQ(error_in("d.png 1\n"), ":1: " + dir_.file("d.png") + ": no such file");
  EXPECT_EQ(error_in("\n \n"), ": there are no pictures");
  EXPECT_EQ(error_in("c.png 0.5\n").find(": no field for the model's input 'label'"), std::string::npos);
  EXPECT_EQ(error_in("c.png 0.5\n"), ":1: label 0.5 is not an integer");
}

TEST_F(Images, ErrorsOfFolders) {
  EXPECT_EQ(error(), dir_.path() + ": there are no pictures");
  EXPECT_EQ(error_of("images:" + dir_.file("none"), kInputs), dir_.file("none") + ": No such file or directory");
  add("a/p.png", square(1));
  EXPECT_EQ(error("?root=x"), address("?root=x") + ": root goes with a list file, " + dir_.path() + " is none");
  EXPECT_EQ(error_of(address(), {kInputs[0], classes("label", 0), classes("weight", 0)}),
            address() + ": no field for the model's input 'weight' (scalar i32); fields: image (3x2x2), label (scalar)");
  add("a/notes.txt", "");
  EXPECT_EQ(error(), dir_.file("a/notes.txt") + ": not the name of a picture; known are .jpg, .jpeg and .png");
  std::filesystem::remove(dir_.file("a/notes.txt"));
  std::filesystem::create_directory(dir_.file("b"));
  EXPECT_EQ(error(), dir_.file("b") + ": a class folder without pictures");
  add("b/c/p.png", square(1));
  EXPECT_EQ(error(), dir_.file("b/c") + ": a folder in a class folder");
  add("p.png", square(1));
  EXPECT_EQ(error(), dir_.file("p.png") + ": a file beside class folders");
}

TEST_F(Images, ClassesBeyondTheModelsAreNamed) {
  for (const char* name : {"a", "b", "c"}) add(std::string(name) + "/p.png", square(1));
  EXPECT_EQ(error_of(address(), {kInputs[0], classes("label", 2)}),
            dir_.file("c/p.png") + ": label 2 is outside the model's classes [0, 2)");
}

TEST_F(Images, DamagedPicturesAreNamedWhenTheyAreRead) {
  const std::string whole = jpeg_bytes(16, 16, JCS_RGB, std::vector<uint8_t>(768, 90));
  add("a/1.jpg", whole);
  add("a/2.jpg", whole.substr(0, whole.size() - 20));
  add("a/3.jpg", "text");
  const auto data = open_data(address(), kInputs);
  ASSERT_TRUE(data.ok()) << data.status();
  const auto error_at = [&](std::vector<int64_t> rows) {
    std::vector<float> out(rows.size() * 12);
    return std::string(data->train->read(0, rows.data(), static_cast<int64_t>(rows.size()), out.data()).message());
  };
  EXPECT_EQ(error_at({0}), "");
  EXPECT_EQ(error_at({0, 1}), dir_.file("a/2.jpg") + ": damaged JPEG: Premature end of JPEG file");
  EXPECT_EQ(error_at({2, 1, 0}), dir_.file("a/3.jpg") + ": neither JPEG nor PNG");  // the first of the batch
  std::filesystem::remove(dir_.file("a/1.jpg"));
  EXPECT_EQ(error_at({0}), dir_.file("a/1.jpg") + ": No such file or directory");
}

TEST_F(Images, ErrorsOfInputs) {
  add("a/p.png", square(1));
  EXPECT_EQ(error_of(address(), {floats("image", {4, 2, 2})}),
            address() + ": the model's input 'image' is 4x2x2; pictures have 1 or 3 channels x height x width");
  EXPECT_EQ(error_of(address("?size=2x2"), {floats("image", {16})}),
            address("?size=2x2") +
                ": the model's input 'image' is 16; pictures have 1 or 3 channels x height x width, here with size=2x2");
  EXPECT_EQ(
      error_of(address(), {floats("x", {12})}),
      address() +
          ": no input of the model is shaped like a picture (1 or 3 channels x height x width); name one with INPUT=image and, "
          "if it is flat, size=HEIGHTxWIDTH");
  EXPECT_EQ(error_of(address(), {{"image", plan::DType::i32, {3, 2, 2}}}),
            address() + ": pictures are f32, f64 or u8, the model's input 'image' is i32");
  EXPECT_EQ(error_of(address("?mean=1"), {{"image", plan::DType::u8, {3, 2, 2}}}),
            address("?mean=1") + ": mean is for floating inputs, 'image' is u8");
}

TEST_F(Images, ErrorsOfParameters) {
  add("a/p.png", square(1));
  const auto error_of_parameter = [&](const std::string& parameters) {
    const std::string fault = error("?" + parameters), start = address("?" + parameters) + ": ";
    EXPECT_EQ(fault.find(start), 0u) << fault;
    return fault.size() < start.size() ? fault : fault.substr(start.size());
  };
  EXPECT_EQ(error_of_parameter("size=2"), "size must be HEIGHTxWIDTH in pixels, not '2'");
  EXPECT_EQ(error_of_parameter("resize=big"), "resize must be cover, stretch or the shorter side in pixels, not 'big'");
  EXPECT_EQ(error_of_parameter("resize=1"), "resize must be at least the size of the picture, 2x2, not '1'");
  EXPECT_EQ(error_of_parameter("crop=left"), "crop must be center, random or area, not 'left'");
  EXPECT_EQ(error_of_parameter("flip=1"), "flip must be yes or no, not '1'");
  EXPECT_EQ(error_of_parameter("crop=random&pad=-1"), "pad must be a whole number from 0 to 32768, not '-1'");
  EXPECT_EQ(error_of_parameter("pad=4"), "pad goes with crop=random");
  EXPECT_EQ(error_of_parameter("mean=1,2"), "mean must be one number or one for each channel (3), not '1,2'");
  EXPECT_EQ(error_of_parameter("std=0"), "std must be one positive number or one for each channel (3), not '0'");
  EXPECT_EQ(error_of_parameter("scale=0"), "scale must be a positive number, not '0'");
  EXPECT_EQ(error_of_parameter("threads=0"), "threads must be a whole number from 1 to 32768, not '0'");
  EXPECT_EQ(
      error_of_parameter("colour=yes"),
      "unknown parameter 'colour'; known: root, size, resize, crop, pad, flip, mean, std, scale, threads, holdout, holdout_seed, "
      "image (input), label (input)");
}

TEST_F(Images, VariedInTrainingAlikeWithAnyThreadsAndBatches) {
  constexpr int kCount = 40;
  std::vector<int64_t> rows;
  for (int i = 0; i < kCount; ++i) {
    std::vector<uint8_t> pixels(12 * 12 * 3);
    for (size_t p = 0; p < pixels.size(); ++p) pixels[p] = static_cast<uint8_t>(p * 7 + i * 31);
    add("a/" + std::to_string(100 + i) + (i % 2 ? ".jpg" : ".png"),
        i % 2 ? jpeg_bytes(12, 12, JCS_RGB, pixels) : png_rgb(12, 12, pixels));
    rows.push_back(i);
  }
  const std::vector<Field> inputs = {floats("image", {3, 8, 8})};
  const auto read = [&](const std::string& parameters, const Variation* variation, int64_t batch) {
    const auto data = open_data(address(parameters), inputs);
    EXPECT_TRUE(data.ok()) << data.status();
    std::vector<float> out(kCount * 192);
    for (int64_t i = 0; i < kCount; i += batch) {
      float* to = out.data() + i * 192;
      const absl::Status status = variation == nullptr ? data->train->read(0, &rows[i], batch, to)
                                                       : data->train->read_varied(0, &rows[i], batch, *variation, to);
      EXPECT_TRUE(status.ok()) << status;
    }
    return out;
  };
  for (const char* parameters : {"?crop=random&flip=yes", "?crop=area&flip=yes", "?resize=9&crop=random&pad=1"}) {
    const std::string p = parameters;
    const Variation first{5, 0}, second{5, 1}, other{6, 0};
    const std::vector<float> one = read(p + "&threads=1", &first, kCount);
    EXPECT_EQ(one, read(p + "&threads=4", &first, kCount)) << p;
    EXPECT_EQ(one, read(p + "&threads=3", &first, 5)) << p;
    EXPECT_NE(one, read(p, &second, kCount)) << p;
    EXPECT_NE(one, read(p, &other, kCount)) << p;
    // Outside training: the middle, whatever is asked for in training.
    const std::string resize = p.find("resize") == std::string::npos ? "" : "?resize=9";
    EXPECT_EQ(read(p, nullptr, kCount), read(resize, nullptr, kCount)) << p;
  }
  // Without parameters training sees what evaluation sees.
  const Variation variation{5, 0};
  EXPECT_EQ(read("", &variation, kCount), read("", nullptr, kCount));
}

TEST_F(Images, AHeldOutSampleIsVariedByItsRowInTheWhole) {
  for (int i = 0; i < 10; ++i) {
    std::vector<uint8_t> pixels(12 * 12 * 3);
    for (size_t p = 0; p < pixels.size(); ++p) pixels[p] = static_cast<uint8_t>(p);
    add("a/" + std::to_string(i) + ".png", png_rgb(12, 12, pixels));
  }
  const std::vector<Field> inputs = {floats("image", {3, 8, 8})};
  const auto whole = open_data(address("?crop=random"), inputs);
  const auto split = open_data(address("?crop=random&holdout=0.3"), inputs);
  ASSERT_TRUE(whole.ok() && split.ok());
  ASSERT_EQ(split->train->count(), 7);
  const Variation variation{1, 2};
  std::vector<std::vector<float>> all;
  for (int64_t row = 0; row < 10; ++row) {
    all.emplace_back(192);
    ASSERT_TRUE(whole->train->read_varied(0, &row, 1, variation, all.back().data()).ok());
  }
  size_t at = 0;  // the pictures are all alike: only the crop tells them apart, in the order of the whole
  for (int64_t row = 0; row < 7; ++row) {
    std::vector<float> one(192);
    ASSERT_TRUE(split->train->read_varied(0, &row, 1, variation, one.data()).ok());
    while (at < all.size() && all[at] != one) ++at;
    EXPECT_LT(at++, all.size()) << row;
  }
}

}  // namespace
}  // namespace mxc::io
