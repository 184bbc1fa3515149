#include <cmath>

#include "tests/runtime/io/source_test.h"

namespace mxc::io {
namespace {

const std::vector<Field> kInputs = {floats("image", {1, 8, 8}), classes("label", 10)};

TEST(RandomData, NormalNumbersAndUniformClasses) {
  const auto data = open_data("random:1000", kInputs);
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ(data->train->count(), 1000);
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < 1000; ++i) rows.push_back(i);
  const std::vector<float> x = read_rows<float>(*data->train, "image", rows);
  double sum = 0, squares = 0, fourth = 0;
  for (float v : x) sum += v, squares += v * v, fourth += double{v} * v * v * v;
  const double n = static_cast<double>(x.size());
  // Moments of the standard normal: 0, 1, 3; bounds of five standard deviations of their means.
  EXPECT_NEAR(sum / n, 0, 5 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 1, 5 * std::sqrt(2 / n));
  EXPECT_NEAR(fourth / n, 3, 5 * std::sqrt(96 / n));
  std::vector<int> count(10, 0);
  for (int32_t label : read_rows<int32_t>(*data->train, "label", rows)) {
    ASSERT_TRUE(label >= 0 && label < 10);
    ++count[label];
  }
  for (int c : count) EXPECT_NEAR(c, 100, 50);
}

TEST(RandomData, IsAFunctionOfSeedInputAndRow) {
  const auto read = [](const std::string& address, const std::vector<int64_t>& rows) {
    const auto data = open_data(address, kInputs);
    EXPECT_TRUE(data.ok()) << data.status();
    return read_rows<float>(*data->train, "image", rows);
  };
  EXPECT_EQ(read("random:10", {3}), read("random:99?seed=0", {3}));
  EXPECT_NE(read("random:10", {3}), read("random:10", {4}));
  EXPECT_NE(read("random:10", {3}), read("random:10?seed=1", {3}));
  const auto two = open_data("random:10", {floats("a", {4}), floats("b", {4})});
  ASSERT_TRUE(two.ok());
  EXPECT_NE(read_rows<float>(*two->train, "a", {0}), read_rows<float>(*two->train, "b", {0}));
}

TEST(RandomData, Ranges) {
  const auto data =
      open_data("random:500?x=-2:3&k=5:7&holdout=0.2", {floats("x", {}), classes("k", 0), {"b", plan::DType::u8, {}}});
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ(data->train->count(), 400);
  EXPECT_EQ(data->test->count(), 100);
  float least = 9, most = -9;
  int fives = 0, large = 0;
  for (int64_t i = 0; i < 400; ++i) {
    const float x = read_rows<float>(*data->train, "x", {i})[0];
    least = std::min(least, x);
    most = std::max(most, x);
    const int32_t k = read_rows<int32_t>(*data->train, "k", {i})[0];
    ASSERT_TRUE(k == 5 || k == 6);
    fives += k == 5;
    large += read_rows<uint8_t>(*data->train, "b", {i})[0] >= 128;
  }
  EXPECT_TRUE(least >= -2 && least < -1.9 && most < 3 && most > 2.9) << least << " " << most;
  EXPECT_NEAR(fives, 200, 50);
  EXPECT_NEAR(large, 200, 50);
}

TEST(RandomData, Errors) {
  EXPECT_EQ(error_of("random:many", kInputs), "random:many: after random: comes the number of samples, not 'many'");
  EXPECT_EQ(error_of("random:0", kInputs), "random:0: after random: comes the number of samples, not '0'");
  EXPECT_EQ(error_of("random:99999999999999", kInputs), "random:99999999999999: at most 100000000 samples are possible");
  EXPECT_TRUE(open_data("random:100000000", kInputs).ok());
  EXPECT_EQ(error_of("random:1?seed=x", kInputs), "random:1?seed=x: seed must be a whole number, not 'x'");
  EXPECT_EQ(error_of("random:1?size=2", kInputs),
            "random:1?size=2: unknown parameter 'size'; known: seed, holdout, holdout_seed, image (input), label (input)");
  EXPECT_EQ(error_of("random:1?image=2", kInputs), "random:1?image=2: image must be LOW:HIGH, not '2'");
  EXPECT_EQ(error_of("random:1?image=2:1", kInputs), "random:1?image=2:1: image must be LOW:HIGH, not '2:1'");
  EXPECT_EQ(error_of("random:1?label=0:11", kInputs),
            "random:1?label=0:11: label is i32: 0:11 must be whole numbers within the model's classes 0:10");
  EXPECT_EQ(error_of("random:1?k=0:0.5", {classes("k", 0)}), "random:1?k=0:0.5: k is i32: 0:0.5 must be whole numbers");
  EXPECT_EQ(error_of("random:1", {classes("k", 0)}),
            "random:1: how large the integers of 'k' may be is not known; say it with k=LOW:HIGH");
  EXPECT_EQ(error_of("random:1", {{"h", plan::DType::f16, {}}}), "input 'h': data of type f16");
}

}  // namespace
}  // namespace mxc::io
