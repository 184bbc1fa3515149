// Each operation in each element type, against what NumPy computed (make_expected_dtypes.py): ends of integers, signed zeros, infinities and
// NaN included. bf16, which NumPy does not have, follows from f32 by rounding (kernels_pointwise_test).
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <map>

#include "tests/runtime/ndarray/expected.h"

namespace mxc {
namespace {

const NDArray& of_dtypes(const std::string& name) {
  static const auto* arrays = [] {
    auto* map = new std::map<std::string, NDArray>;
    for (auto& [key, array] : load_arrays(MXC_NDARRAY_EXPECTED_DTYPES)) (*map)[key] = array;
    return map;
  }();
  auto found = arrays->find(name);
  if (found == arrays->end()) throw std::runtime_error("expected_dtypes.npz has no " + name);
  return found->second;
}

// The same type, shape and elements: NaN equals NaN, and zeros have their signs.
void expect_same(const NDArray& got, const NDArray& want, const std::string& what) {
  ASSERT_EQ(to_string(got.dtype()), to_string(want.dtype())) << what;
  ASSERT_EQ(got.shape(), want.shape()) << what;
  if (want.dtype() == i64) {
    EXPECT_EQ(got.to_vector<int64_t>(), want.to_vector<int64_t>()) << what;
    return;
  }
  const std::vector<double> a = doubles(got), b = doubles(want);
  for (size_t i = 0; i < a.size(); ++i) {
    const bool same = std::isnan(b[i]) ? std::isnan(a[i]) : a[i] == b[i] && std::signbit(a[i]) == std::signbit(b[i]);
    EXPECT_TRUE(same) << what << "[" << i << "] is " << a[i] << ", NumPy's is " << b[i];
  }
}

constexpr DType kTypes[] = {f16, f32, f64, i8, u8, i32, i64};

std::string name_of(DType dtype) { return to_string(dtype); }

bool is_fraction(DType dtype) { return dtype == f16 || dtype == f32 || dtype == f64; }

class Dtypes : public testing::TestWithParam<DType> {
 protected:
  DType dtype_ = GetParam();
  const NDArray& value(const std::string& name) const { return of_dtypes(name_of(dtype_) + "." + name); }
  const NDArray x_ = value("x"), y_ = value("y");
  double epsilon() const { return dtype_ == f16 ? 2e-3 : dtype_ == f32 ? 1e-6 : 1e-12; }
};

TEST_P(Dtypes, Elementwise) {
  const NDArray &x = x_, &y = y_;
  const std::map<std::string, std::function<NDArray()>> cases = {
      {"add", [&] { return x + y; }},
      {"sub", [&] { return x - y; }},
      {"mul", [&] { return x * y; }},
      {"maximum", [&] { return maximum(x, y); }},
      {"minimum", [&] { return minimum(x, y); }},
      {"neg", [&] { return -x; }},
      {"abs", [&] { return abs(x); }},
      {"square", [&] { return square(x); }},
      {"sign", [&] { return sign(x); }},
      {"floor", [&] { return floor(x); }},
      {"ceil", [&] { return ceil(x); }},
      {"round", [&] { return round(x); }},
      {"modulo", [&] { return x % y; }},
      {"modulo_number", [&] { return modulo(x, 3); }},
      {"less", [&] { return x < y; }},
      {"equal", [&] { return x == y; }},
      {"greater_equal", [&] { return x >= y; }},
      {"where", [&] { return where(x < y, x, y); }},
      {"clip", [&] { return clip(x, 1, 5); }},
      {"table", [&] { return x.slice(0, 0, 4).expand(1) + y.slice(0, 0, 5); }},
      {"take", [&] { return take(x, NDArray::from({3, -1, 0})); }},
      {"concat", [&] { return concat({x, y}); }},
  };
  for (const auto& [name, compute] : cases) expect_same(compute(), value(name), name_of(dtype_) + "." + name);
  // Of rows that are no run of memory, too.
  NDArray both = NDArray::zeros({x.size(), 2}, dtype_);
  both.slice(1, 1, 2) = x.expand(1);
  expect_same((both % y.expand(1)).slice(1, 1, 2).squeeze(1), value("modulo"), name_of(dtype_) + ".modulo of a column");
}

TEST_P(Dtypes, Powers) {
  if (is_fraction(dtype_)) {
    expect_same(x_ / y_, value("div"), name_of(dtype_) + ".div");
    const NDArray power = pow(abs(x_.slice(0, 0, 15)), y_.slice(0, 0, 15));
    const std::vector<double> got = doubles(power), want = doubles(value("power"));
    for (size_t i = 0; i < got.size(); ++i) {
      if (std::isfinite(want[i])) EXPECT_NEAR(got[i], want[i], epsilon() * std::max(1e-3, std::fabs(want[i]))) << i;
      else EXPECT_TRUE(std::isnan(want[i]) ? std::isnan(got[i]) : got[i] == want[i]) << i;
    }
    return;
  }
  expect_same(pow(x_, value("exponents")), value("power"), name_of(dtype_) + ".power");
  expect_same(pow(x_, 3), value("cube"), name_of(dtype_) + ".cube");
  if (dtype_ == u8) return;
  // 1 / a to the -b, towards zero; NumPy refuses.
  const NDArray bases = NDArray::from({1, -1, -1, 2, 0, -3}).cast(dtype_), negative = NDArray::from({-2, -3, -4, -1, -1, -5}).cast(dtype_);
  EXPECT_EQ(doubles(pow(bases, negative)), (std::vector<double>{1, -1, 1, 0, 0, 0}));
  EXPECT_EQ(error_of([&] { pow(bases, -1); }), "pow: integers to the -1: cast them to a floating type");
}

TEST_P(Dtypes, OrderAndReductions) {
  const std::string name = name_of(dtype_);
  expect_same(sort(x_), value("sort"), name + ".sort");
  expect_same(argsort(x_), value("argsort"), name + ".argsort");
  expect_same(argmax(x_), value("argmax"), name + ".argmax");
  expect_same(argmin(x_), value("argmin"), name + ".argmin");
  expect_same(reduce_max(x_), value("max"), name + ".max");
  expect_same(reduce_min(x_), value("min"), name + ".min");
  if (is_fraction(dtype_)) {
    expect_near(sum(value("finite")), value("sum"), epsilon(), name + ".sum");
    expect_near(mean(value("finite")), value("mean"), epsilon(), name + ".mean");
    return;
  }
  expect_same(sum(x_), value("sum"), name + ".sum");
  expect_same(reduce_prod(x_.slice(0, 3, 7)), value("prod"), name + ".prod");
  ASSERT_EQ(mean(x_).dtype(), f64);
  expect_near(mean(x_), value("mean"), 1e-12, name + ".mean");
  expect_same(matmul(x_.slice(0, 0, 12).reshape({3, 4}), y_.slice(0, 0, 12).reshape({4, 3})), value("matmul"), name + ".matmul");
}

TEST_P(Dtypes, Casts) {
  for (const DType to : {f16, f32, f64, i8, u8, i32, i64, boolean}) {
    const bool fits = !is_fraction(dtype_) || is_fraction(to) || to == boolean;
    NDArray from = x_;
    if (!fits) {
      std::vector<double> chosen;
      for (double v : doubles(x_)) {
        if (v >= 0 && v < 100) chosen.push_back(v);
      }
      from = NDArray::from(chosen).cast(dtype_);
    }
    const std::string what = "cast." + name_of(dtype_) + "." + name_of(to);
    expect_same(from.cast(to), of_dtypes(what), what);
  }
}

INSTANTIATE_TEST_SUITE_P(Each, Dtypes, testing::ValuesIn(kTypes), [](const auto& info) { return name_of(info.param); });

TEST(DtypesOfResults, BooleansCountAndIntegersHaveFractionsAsMeans) {
  const NDArray& flags = of_dtypes("bool.x");
  expect_same(sum(flags), of_dtypes("bool.sum"), "bool.sum");
  expect_same(sum(flags, {.axes = {0}}), of_dtypes("bool.sum.0"), "bool.sum.0");
  expect_near(mean(flags), of_dtypes("bool.mean"), 1e-15, "bool.mean");
  expect_near(mean(flags, {.axes = {1}}), of_dtypes("bool.mean.1"), 1e-15, "bool.mean.1");
  expect_same(mean(of_dtypes("bytes")), of_dtypes("bytes.mean"), "bytes.mean");  // of more elements than a u8 counts
  expect_same(mean(of_dtypes("large")), of_dtypes("large.mean"), "large.mean");  // whose sum no i64 holds
}

TEST(DtypesOfResults, RangesAtTheEndsOfAType) {
  const int64_t low = INT64_MIN, high = INT64_MAX;
  expect_same(NDArray::arange(low, low + 3, 1, i64), of_dtypes("ends.low"), "ends.low");
  expect_same(NDArray::arange(high - 3, high, 1, i64), of_dtypes("ends.high"), "ends.high");
  expect_same(NDArray::arange(low, high, high, i64), of_dtypes("ends.steps"), "ends.steps");
  EXPECT_EQ(NDArray::arange(5, 0, 1, u8).size(), 0);
  EXPECT_EQ(doubles(NDArray::arange(250, 256, 2, u8)), (std::vector<double>{250, 252, 254}));
  EXPECT_EQ(error_of([] { NDArray::arange(0, 257, 1, u8); }), "arange: 256 is no u8");
  EXPECT_EQ(error_of([] { NDArray::arange(0, 10, 0.5, i32); }), "arange: 0.5 is no i32");
  EXPECT_EQ(error_of([] { NDArray::arange(0, 3, 1, boolean); }), "arange: 2 is no bool");
  EXPECT_EQ(error_of([&] { NDArray::arange(low, high, 1, i64); }), "arange: from -9.22337e+18 to 9.22337e+18 by 1 is too long");
}

TEST(DtypesOfResults, NumbersThatATypeDoesNotHold) {
  EXPECT_EQ(error_of([] { NDArray::full({1}, UINT64_MAX, i64); }), "full: 1.84467e+19 is no i64");
  EXPECT_EQ(error_of([] { NDArray::ones({1}, i64) + UINT64_MAX; }), "add: 1.84467e+19 is no i64");
  EXPECT_EQ(NDArray::full({1}, static_cast<uint64_t>(INT64_MAX), i64).item<int64_t>(), INT64_MAX);
  EXPECT_EQ(NDArray::full({1}, UINT64_MAX, f64).item<double>(), 0x1p64);
  EXPECT_EQ(error_of([] { NDArray::full({1}, 1e19, i64); }), "full: 1e+19 is no i64");
  EXPECT_EQ(error_of([] { NDArray::full({1}, NAN, i32); }), "full: nan is no i32");
}

// NaN come after all numbers in what is sorted, and so in topk; argmax and argmin find the first of them, as NumPy's do.
TEST(DtypesOfResults, NaN) {
  const NDArray x = NDArray::from({2.0f, NAN, 3.0f, NAN, 1.0f});
  EXPECT_EQ(argsort(x).to_vector<int64_t>(), (std::vector<int64_t>{4, 0, 2, 1, 3}));
  EXPECT_EQ(argsort(x, {.descending = true}).to_vector<int64_t>(), (std::vector<int64_t>{2, 0, 4, 1, 3}));
  EXPECT_EQ(topk(x, {.k = 4}).indices.to_vector<int64_t>(), (std::vector<int64_t>{2, 0, 4, 1}));
  EXPECT_EQ(topk(x, {.k = 4, .smallest = true}).indices.to_vector<int64_t>(), (std::vector<int64_t>{4, 0, 2, 1}));
  EXPECT_EQ(argmax(x).item<int64_t>(), 1);
  EXPECT_EQ(argmin(x).item<int64_t>(), 1);
}

}  // namespace
}  // namespace mxc
