// Text of arrays: NumPy's own.
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "tests/runtime/ndarray/expected.h"

namespace mxc {
namespace {

TEST(Print, AsNumPy) {
  for (const char* name : {"floats", "thirds", "thirds64", "spread", "large", "huge", "special", "nans", "zeros", "negative_zero", "whole", "bools",
                           "bytes", "cube", "long", "long_floats", "summary", "summary_matrix", "half", "scalar", "scalar_small", "scalar_whole",
                           "scalar_even", "empty"}) {
    const std::vector<uint8_t> bytes = stored(std::string("text.") + name).to_vector<uint8_t>();
    EXPECT_EQ(to_string(stored(std::string("shown.") + name)), std::string(bytes.begin(), bytes.end())) << name;
  }
}

// Of many numbers of each type, three in an array and one alone.
TEST(Print, HardNumbersAsNumPy) {
  const auto lines = [](const NDArray& text) {
    const std::vector<uint8_t> bytes = text.to_vector<uint8_t>();
    return std::istringstream(std::string(bytes.begin(), bytes.end()));
  };
  for (const std::string type : {"f2", "f4", "f8"}) {
    const NDArray values = NDArray::load(MXC_NDARRAY_EXPECTED_TEXTS, "values." + type);
    std::istringstream rows = lines(NDArray::load(MXC_NDARRAY_EXPECTED_TEXTS, "rows." + type));
    std::istringstream scalars = lines(NDArray::load(MXC_NDARRAY_EXPECTED_TEXTS, "scalars." + type));
    std::string row, scalar;
    for (int64_t i = 0; i < values.shape(0); ++i) {
      ASSERT_TRUE(std::getline(rows, row) && std::getline(scalars, scalar));
      EXPECT_EQ(to_string(values[i]), row) << type << " row " << i;
      EXPECT_EQ(to_string(values[i][0]), scalar) << type << " row " << i;
    }
  }
}

// NumPy has room for False where there is none.
TEST(Print, Booleans) {
  EXPECT_EQ(to_string(NDArray::from({true, true})), "[ True  True]");
  EXPECT_EQ(to_string(NDArray::from({false, true})), "[False  True]");
  EXPECT_EQ(to_string(NDArray::from({true})[0]), "True");
}

TEST(Print, ToAStream) {
  std::ostringstream out;
  out << NDArray::from({1, 2}) << NDArray::from({0.1f, 1.0f}).cast(bf16);
  EXPECT_EQ(out.str(), "[1 2][0.1 1. ]");
}

// The example of docs/ndarray.md.
TEST(Print, TheExampleOfTheDocumentation) {
  NDArray x = NDArray::from({{1.0f, 2.0f}, {3.0f, 4.0f}});
  NDArray y = exp(x) / sum(exp(x), {.axes = {1}, .keep_dims = true});
  y[0] = 0;
  y.slice(1, 0, 1) += 1;
  EXPECT_EQ(to_string(y), "[[1.        0.       ]\n [1.2689414 0.7310586]]");
}

TEST(Print, OfAViewThatIsNotContiguous) { EXPECT_EQ(to_string(NDArray::from({{1, 2}, {3, 4}}).transpose()), "[[1 3]\n [2 4]]"); }

}  // namespace
}  // namespace mxc
