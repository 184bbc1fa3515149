// Arithmetic, functions, comparisons, broadcasting and casts, against NumPy.
#include <gtest/gtest.h>

#include <cmath>


#include "mxc/ndarray.h"
#include "tests/runtime/ndarray/expected.h"

namespace mxc {
namespace {

TEST(Pointwise, Arithmetic) {
  const NDArray a = stored("a"), b = stored("b");
  expect_same(a + b, "add");
  expect_same(a - b, "sub");
  expect_same(a * b, "mul");
  expect_same(a / b, "div");
  expect_close(pow(abs(a), b), "pow");
  expect_same(maximum(a, b), "maximum");
  expect_same(minimum(a, stored("row")), "minimum");
  expect_same(stored("whole") + stored("other"), "whole_add");
  expect_same(stored("whole") * stored("other"), "whole_mul");
  expect_same(a.cast(f64) * b.cast(f64), "f64");
}

TEST(Pointwise, Broadcasting) {
  const NDArray a = stored("a");
  expect_same(a + stored("row"), "add_row");
  expect_same(a * stored("column"), "mul_column");
  expect_same(stored("column") + stored("row"), "outer");
  expect_same(a * 1.5 + 2, "number");
  expect_same(1 / (a * a + 1), "from_number");
}

TEST(Pointwise, Views) {
  const NDArray a = stored("a"), b = stored("b"), big = stored("big");
  expect_same(a.transpose() + b.transpose() * 2, "transposed");
  expect_same(big.slice(0, 0, 5, 2).slice(2, 1, 6, 2) - big[1].slice(1, 0, 5, 2), "strided");
}

TEST(Pointwise, Functions) {
  for (const char* name : {"exp", "tanh", "sin", "cos", "abs", "square", "neg", "relu", "sigmoid"}) expect_close(unary(name, stored("a")), name);
  for (const char* name : {"log", "log1p", "sqrt"}) expect_close(unary(name, stored("positive")), name);
  expect_same(clip(stored("a"), -0.5, 0.5), "clip");
  expect_same(leaky_relu(stored("a"), 0.1), "leaky_relu");
  expect_close(elu(stored("a")), "elu");
}

TEST(Pointwise, Comparisons) {
  const NDArray a = stored("a"), b = stored("b");
  expect_same(where(a > b, a, b), "where");
  expect_same(a < b, "less");
  expect_same(stored("whole") == stored("other"), "equal");
  expect_same(a >= stored("row"), "greater_equal");
  expect_same(logical_and(a > 0, b > 0), "and");
  expect_same(logical_xor(a > 0, b > 0), "xor");
  expect_same(logical_not(a > 0), "not");
  expect_near(where(a > 0, 1, a), where(a > 0, NDArray::ones({1}), a), 0, "a number as an operand of where");
}

TEST(Pointwise, Casts) {
  expect_same((stored("a") * 10).cast(i32), "cast_i32");
  expect_same(stored("a").cast(f16), "cast_f16");
  expect_same(stored("whole").cast(boolean), "cast_bool");
  EXPECT_EQ(NDArray::from({1.0f, 1.00390625f}).cast(bf16).cast(f32).to_vector<float>(), (std::vector<float>{1, 1}));  // ties to even
}

TEST(Pointwise, SmallFloatsAreRoundedAtEachResult) {
  const NDArray x = NDArray::full({40}, 0.1, f16), y = NDArray::full({40}, 0.2, f16);
  // 0.0999755859375 * 0.199951171875 = 0.019990..., of which the nearest f16 is 0.0199890136...
  EXPECT_EQ((x * y).cast(f32).to_vector<float>()[39], 0.01998901367f);
}

// Whole vectors and what is left over; NumPy hands NaN on.
TEST(Pointwise, TheLargestAndLeastKeepNaNOfAllFloats) {
  for (DType dtype : {f32, f64, f16, bf16}) {
    const NDArray nan = NDArray::full({67}, NAN, dtype), zero = NDArray::zeros({67}, dtype);
    for (const NDArray& result : {maximum(nan, zero), maximum(zero, nan), maximum(nan, 0), minimum(nan, -zero), minimum(-zero, nan), clip(nan, 0, 1)})
      for (float value : result.cast(f32).to_vector<float>()) EXPECT_TRUE(std::isnan(value)) << static_cast<int>(dtype);
    for (float value : maximum(-zero, zero).cast(f32).to_vector<float>()) EXPECT_FALSE(std::signbit(value));
    for (float value : minimum(-zero, zero).cast(f32).to_vector<float>()) EXPECT_TRUE(std::signbit(value));
  }
}

TEST(Pointwise, InPlaceThroughViews) {
  NDArray x = NDArray::zeros({4, 3});
  x[2] = NDArray::from({1.0f, 2.0f, 3.0f});
  x.slice(0, 0, 4, 2) += 1;
  x[1][0] = 5;
  x.transpose()[2] *= 2;
  x[3] = x[2] - x[1];
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 1, 2, 5, 0, 0, 2, 3, 8, -3, 3, 8}));
}

TEST(Pointwise, OverlappingViewsReadWhatWasThere) {
  NDArray x = NDArray::arange(0, 6);
  x.slice(0, 1, 6) += x.slice(0, 0, 5);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{0, 1, 3, 5, 7, 9}));
  NDArray m = NDArray::from({{1, 2}, {3, 4}});
  m += m.transpose();
  EXPECT_EQ(m.to_vector<int32_t>(), (std::vector<int32_t>{2, 5, 5, 8}));
  m.assign(m.transpose());
  EXPECT_EQ(m.to_vector<int32_t>(), (std::vector<int32_t>{2, 5, 5, 8}));
}

TEST(Pointwise, HandlesAndViews) {
  NDArray a = NDArray::zeros({2, 2}), b = a;
  b += 1;
  EXPECT_EQ(a.to_vector<float>(), (std::vector<float>{1, 1, 1, 1}));
  NDArray row = a[0];
  row += 1;
  EXPECT_EQ(a.to_vector<float>(), (std::vector<float>{2, 2, 1, 1}));
  row = NDArray::zeros({2});  // another array: a stays
  EXPECT_EQ(a.to_vector<float>(), (std::vector<float>{2, 2, 1, 1}));
}

TEST(Pointwise, IntegersWrapAroundAndDivideByZeroToZero) {
  const NDArray x = NDArray::from(std::vector<int8_t>{127, -128, 7});
  EXPECT_EQ((x + 1).to_vector<int8_t>(), (std::vector<int8_t>{-128, -127, 8}));
  EXPECT_EQ((x / NDArray::from(std::vector<int8_t>{0, -1, 2})).to_vector<int8_t>(), (std::vector<int8_t>{0, -128, 3}));
}

TEST(Pointwise, NothingInNothingOut) {
  const NDArray none = NDArray::zeros({0, 3});
  EXPECT_EQ((none + 1).shape(), (Extents{0, 3}));
  EXPECT_EQ((none * NDArray::ones({3})).to_vector<float>().size(), 0u);
}

// A row is long enough for the kernel, or it goes through tiles: the bits are the same.
TEST(Pointwise, RowsAndTilesAgree) {
  for (int64_t columns : {1, 3, 15, 16, 17, 100, 1025}) {
    const NDArray x = NDArray::arange(0, 7 * columns).reshape({7, columns}) * 0.37, y = NDArray::arange(0, columns) * 0.11;
    NDArray wide = NDArray::zeros({7, columns + 2});
    wide.slice(1, 1, columns + 1).assign(x);
    const std::vector<float> got = (exp(wide.slice(1, 1, columns + 1) * -0.01) + y).to_vector<float>();
    const std::vector<float> direct = (exp(x * -0.01) + y.broadcast_to({7, columns}).copy()).to_vector<float>();
    EXPECT_EQ(got, direct) << columns;
  }
}

}  // namespace
}  // namespace mxc
