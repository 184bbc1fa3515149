// Elementwise kernels and casts against plain loops in double.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/runtime/ndarray/kernel_elements.h"

namespace mxc::ndarray {
namespace {

// ---- Elementwise, floats ----------------------------------------------------------------------------------------------------------
struct Formula {
  std::string name;
  int operands;
  double low, high;
  std::function<double(const double*)> f;
};

std::vector<Formula> formulas() {
  auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  using In = const double*;
  return {
      {"neg", 1, -9, 9, [](In x) { return -x[0]; }},
      {"exp", 1, -9, 9, [](In x) { return std::exp(x[0]); }},
      {"log", 1, 0.01, 99, [](In x) { return std::log(x[0]); }},
      {"log1p", 1, -0.9, 9, [](In x) { return std::log1p(x[0]); }},
      {"tanh", 1, -4, 4, [](In x) { return std::tanh(x[0]); }},
      {"sigmoid", 1, -9, 9, [=](In x) { return sigmoid(x[0]); }},
      {"relu", 1, -9, 9, [](In x) { return std::max(x[0], 0.0); }},
      {"softplus", 1, -9, 9, [](In x) { return std::log1p(std::exp(x[0])); }},
      {"silu", 1, -9, 9, [=](In x) { return x[0] * sigmoid(x[0]); }},
      {"gelu", 1, -3, 3, [](In x) { return x[0] * 0.5 * std::erfc(-x[0] / std::sqrt(2.0)); }},
      {"abs", 1, -9, 9, [](In x) { return std::fabs(x[0]); }},
      {"sqrt", 1, 0, 9, [](In x) { return std::sqrt(x[0]); }},
      {"rsqrt", 1, 0.1, 9, [](In x) { return 1 / std::sqrt(x[0]); }},
      {"square", 1, -9, 9, [](In x) { return x[0] * x[0]; }},
      {"erf", 1, -3, 3, [](In x) { return std::erf(x[0]); }},
      {"sin", 1, -9, 9, [](In x) { return std::sin(x[0]); }},
      {"cos", 1, -9, 9, [](In x) { return std::cos(x[0]); }},
      {"add", 2, -9, 9, [](In x) { return x[0] + x[1]; }},
      {"sub", 2, -9, 9, [](In x) { return x[0] - x[1]; }},
      {"mul", 2, -9, 9, [](In x) { return x[0] * x[1]; }},
      {"div", 2, 1, 9, [](In x) { return x[0] / x[1]; }},
      {"pow", 2, 0.2, 3, [](In x) { return std::pow(x[0], x[1]); }},
      {"sign", 1, -9, 9, [](In x) { return x[0] > 0 ? 1.0 : x[0] < 0 ? -1.0 : 0.0; }},
      {"floor", 1, -9, 9, [](In x) { return std::floor(x[0]); }},
      {"ceil", 1, -9, 9, [](In x) { return std::ceil(x[0]); }},
      {"round", 1, -9, 9, [](In x) { return std::nearbyint(x[0]); }},
      {"modulo", 2, 1, 9, [](In x) { return std::fmod(x[0], x[1]); }},
      {"maximum", 2, -9, 9, [](In x) { return std::max(x[0], x[1]); }},
      {"minimum", 2, -9, 9, [](In x) { return std::min(x[0], x[1]); }},
      {"mul_add", 3, -9, 9, [](In x) { return x[0] * x[1] + x[2]; }},
      {"mul_sub", 3, -9, 9, [](In x) { return x[0] * x[1] - x[2]; }},
      {"sub_mul", 3, -9, 9, [](In x) { return x[0] - x[1] * x[2]; }},
  };
}

TEST(Kernels, FloatFormulasAgreeWithDoubleLoopsForEveryTypeSizeAndScalar) {
  for (const Formula& formula : formulas())
    for (DType d : kFloats)
      for (unsigned scalars = 0; scalars == 0 || scalars + 1 < 1u << formula.operands; ++scalars)
        for (size_t n : {1, 16, 37}) {
          std::string what = formula.name + "." + std::to_string(static_cast<int>(d)) + "." + std::to_string(scalars);
          const Kernel* k = find_kernel(formula.name, d, scalars);
          ASSERT_NE(k, nullptr) << what;
          EXPECT_EQ(k->result, d);
          std::vector<Elements> operands;
          for (int i = 0; i < formula.operands; ++i)
            operands.emplace_back(d, draw(scalars >> i & 1 ? 1 : n, formula.low, formula.high, 10 * n + i));
          std::vector<Elements*> pointers;
          for (Elements& e : operands) pointers.push_back(&e);
          Elements y = run(*k, pointers, n, n);
          for (size_t i = 0; i < n; ++i) {
            double x[3] = {}, scale = 1;
            for (int j = 0; j < formula.operands; ++j) {
              x[j] = operands[j][scalars >> j & 1 ? 0 : i];
              if (formula.operands == 3) scale = 81;  // of the product, which is rounded first
            }
            double want = formula.f(x);
            expect_near(y[i], want, std::max(scale, std::fabs(want)) * epsilon(d) * (d == DType::f32 ? 8 : 3), what);
          }
        }
}

TEST(Kernels, PairsRoundTwice) {
  // 3 * 11184811 = 2^25 + 1 is no float; with one rounding the difference would be 1.
  Elements a(DType::f32, std::vector{33554432.0}), b(DType::f32, std::vector{3.0}), c(DType::f32, std::vector{11184811.0});
  EXPECT_EQ(run(*find_kernel("sub_mul", DType::f32), {&a, &b, &c}, 1, 1)[0], 0);
  EXPECT_EQ(run(*find_kernel("mul_sub", DType::f32), {&b, &c, &a}, 1, 1)[0], 0);
  Elements minus(DType::f32, std::vector{-33554432.0});
  EXPECT_EQ(run(*find_kernel("mul_add", DType::f32), {&b, &c, &minus}, 1, 1)[0], 0);
}

TEST(Kernels, NaNGoesThroughMaximumAndRelu) {
  for (DType d : kFloats) {
    Elements a(d, {kNaN, 1, kNaN}), b(d, {1, kNaN, kNaN});
    for (const char* name : {"maximum", "minimum"}) {
      Elements y = run(*find_kernel(name, d), {&a, &b}, 3, 3);
      for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(y[i])) << name;
    }
    EXPECT_TRUE(std::isnan(run(*find_kernel("relu", d), {&a}, 3, 3)[0]));
  }
}

// ---- Integers ---------------------------------------------------------------------------------------------------------------------
int64_t wrap(DType d, __int128 v) {
  switch (d) {
    case DType::i8: return static_cast<int8_t>(v);
    case DType::u8: return static_cast<uint8_t>(v);
    case DType::i32: return static_cast<int32_t>(v);
    default: return static_cast<int64_t>(v);
  }
}
// Modulo 2^128; to a negative power 1 / a to the -b, towards zero.
__int128 power(__int128 a, __int128 b) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0;
  unsigned __int128 result = 1, square = static_cast<unsigned __int128>(a);
  for (; b > 0; b /= 2, square *= square)
    if (b % 2 == 1) result *= square;
  return static_cast<__int128>(result);
}

int64_t integer(const Elements& e, size_t i) { return e.dtype() == DType::i64 ? e.as<int64_t>(i) : static_cast<int64_t>(e[i]); }

TEST(Kernels, IntegersWrapAndNeverTrap) {
  using F = std::function<__int128(__int128, __int128)>;
  const std::pair<const char*, F> binary[] = {{"add", [](auto a, auto b) { return a + b; }},
                                              {"sub", [](auto a, auto b) { return a - b; }},
                                              {"mul", [](auto a, auto b) { return a * b; }},
                                              {"div", [](auto a, auto b) { return b == 0 ? 0 : a / b; }},
                                              {"modulo", [](auto a, auto b) {
                                                 const __int128 rest = b == 0 ? 0 : a % b;
                                                 return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
                                               }},
                                              {"pow", power},
                                              {"maximum", [](auto a, auto b) { return std::max(a, b); }},
                                              {"minimum", [](auto a, auto b) { return std::min(a, b); }}};
  const std::pair<const char*, F> unary[] = {{"neg", [](auto a, auto) { return -a; }},
                                             {"abs", [](auto a, auto) { return a < 0 ? -a : a; }},
                                             {"square", [](auto a, auto) { return a * a; }},
                                             {"sign", [](auto a, auto) { return (a > 0) - (a < 0); }},
                                             {"floor", [](auto a, auto) { return a; }},
                                             {"ceil", [](auto a, auto) { return a; }},
                                             {"round", [](auto a, auto) { return a; }},
                                             {"relu", [](auto a, auto) { return a > 0 ? a : 0; }}};
  for (DType d : kIntegers) {
    // All pairs of these and of random bits.
    std::vector<int64_t> values = {0, 1, -1, 2, 7, -9, 100, 127, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(),
                                   std::numeric_limits<int32_t>::min(), -128};
    Elements a(d, Count{37 * 37}), b(d, Count{37 * 37});
    std::mt19937_64 random(3);
    while (values.size() < 37) values.push_back(static_cast<int64_t>(random()));
    for (size_t i = 0; i < a.size(); ++i)
      for (auto [e, v] : {std::pair{&a, values[i / 37]}, std::pair{&b, values[i % 37]}}) {
        if (core::dtype_bytes(d) == 1) e->put<int8_t>(i, static_cast<int8_t>(v));
        else if (d == DType::i32) e->put<int32_t>(i, static_cast<int32_t>(v));
        else e->put<int64_t>(i, v);
      }
    for (auto& [name, f] : binary) {
      Elements y = run(*find_kernel(name, d), {&a, &b}, a.size(), a.size());
      for (size_t i = 0; i < y.size(); ++i)
        ASSERT_EQ(integer(y, i), wrap(d, f(integer(a, i), integer(b, i)))) << name << " " << integer(a, i) << " " << integer(b, i);
    }
    for (auto& [name, f] : unary) {
      Elements y = run(*find_kernel(name, d), {&a}, a.size(), a.size());
      for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(integer(y, i), wrap(d, f(integer(a, i), 0))) << name << " " << integer(a, i);
    }
  }
}

// ---- Comparisons, logic, where ----------------------------------------------------------------------------------------------------
TEST(Kernels, QuestionsGiveBooleans) {
  using F = std::function<bool(double, double)>;
  const std::pair<const char*, F> questions[] = {{"equal", [](double a, double b) { return a == b; }},
                                                 {"not_equal", [](double a, double b) { return a != b; }},
                                                 {"less", [](double a, double b) { return a < b; }},
                                                 {"less_equal", [](double a, double b) { return a <= b; }},
                                                 {"greater", [](double a, double b) { return a > b; }},
                                                 {"greater_equal", [](double a, double b) { return a >= b; }},
                                                 {"logical_and", [](double a, double b) { return a != 0 && b != 0; }},
                                                 {"logical_or", [](double a, double b) { return a != 0 || b != 0; }},
                                                 {"logical_xor", [](double a, double b) { return (a != 0) != (b != 0); }}};
  for (DType d : kAll) {
    std::vector<double> values = {0, 1, 2, 100, 3};
    if (d != DType::u8 && d != DType::boolean) values.insert(values.end(), {-1, -2, -100});
    if (d == DType::u8) values.push_back(200);
    if (is_float(d)) values.insert(values.end(), {kNaN, kInfinity, -0.0});
    Elements a(d, Count{values.size() * values.size()}), b(d, Count{a.size()});
    for (size_t i = 0; i < a.size(); ++i) a.set(i, values[i / values.size()]), b.set(i, values[i % values.size()]);
    for (auto& [name, f] : questions) {
      const Kernel* k = find_kernel(name, d);
      ASSERT_NE(k, nullptr) << name;
      ASSERT_EQ(k->result, DType::boolean);
      Elements y = run(*k, {&a, &b}, a.size(), a.size());
      for (size_t i = 0; i < a.size(); ++i)
        EXPECT_EQ(y.as<uint8_t>(i), f(a[i], b[i])) << name << " " << a[i] << " " << b[i] << " of type " << static_cast<int>(d);
    }
    Elements y = run(*find_kernel("logical_not", d), {&a}, a.size(), a.size());
    for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(y.as<uint8_t>(i), a[i] == 0);
  }
}

TEST(Kernels, WhereTakesBooleansAndScalars) {
  for (DType d : kAll)
    for (unsigned scalars = 0; scalars < 7; ++scalars) {
      auto size = [&](int i) { return Count{scalars >> i & 1 ? 1u : 21u}; };
      Elements condition(DType::boolean, size(0)), a(d, size(1)), b(d, size(2));
      for (size_t i = 0; i < condition.size(); ++i) condition.set(i, i % 3 == 0);
      for (size_t i = 0; i < a.size(); ++i) a.set(i, static_cast<double>(i + 1));
      for (size_t i = 0; i < b.size(); ++i) b.set(i, 0);
      const Kernel* k = find_kernel("where", d, scalars);
      ASSERT_NE(k, nullptr);
      Elements y = run(*k, {&condition, &a, &b}, 21, 21);
      for (size_t i = 0; i < 21; ++i)
        EXPECT_EQ(y[i], condition[scalars & 1 ? 0 : i] != 0 ? a[scalars >> 1 & 1 ? 0 : i] : b[scalars >> 2 & 1 ? 0 : i]);
    }
}

// ---- Casts ------------------------------------------------------------------------------------------------------------------------
TEST(Kernels, CastsBetweenAllTypes) {
  for (DType from : kAll)
    for (DType to : kAll) {
      if (from == to) continue;
      const Kernel* k = cast_family(to)->find(from);
      ASSERT_NE(k, nullptr);
      EXPECT_EQ(k->result, to);
      std::vector<double> values = {0, 1, 2, 3, 5, 42, 100, 127, 0, 7, 8, 9, 10, 11, 12, 13, 14, 99};
      bool is_signed = [](DType d) { return d != DType::u8 && d != DType::boolean; }(from);
      if (is_signed && to != DType::u8) values.insert(values.end(), {-1, -2, -100});
      if (is_float(from)) values.insert(values.end(), {2.75, 0.5, is_signed && to != DType::u8 ? -2.75 : 1.5});
      Elements x(from, values);
      Elements y = run(*k, {&x}, x.size(), x.size());
      for (size_t i = 0; i < x.size(); ++i) {
        double want = to == DType::boolean ? x[i] != 0 : is_float(to) ? x[i] : std::trunc(x[i]);
        EXPECT_EQ(y[i], want) << static_cast<int>(from) << " to " << static_cast<int>(to);
      }
    }
}

TEST(Kernels, AllSmallFloatsGoToF32AndBackAndRoundToNearestEven) {
  for (DType d : {DType::f16, DType::bf16}) {
    const uint16_t infinity = d == DType::f16 ? 0x7c00 : 0x7f80;
    Elements all(d, Count{0x10000}), between(DType::f64, Count{2u * (infinity - 1)});
    for (int i = 0; i < 0x10000; ++i) all.put<uint16_t>(i, static_cast<uint16_t>(i));
    Elements wide = run(*cast_family(DType::f32)->find(d), {&all}, all.size(), all.size());
    for (size_t i = 0; i < all.size(); ++i) expect_near(wide[i], all[i], 0, std::to_string(i));
    Elements back = run(*cast_family(d)->find(DType::f32), {&wide}, all.size(), all.size());
    for (size_t i = 0; i < all.size(); ++i)
      if (!std::isnan(all[i])) ASSERT_EQ(back.as<uint16_t>(i), i);
      else ASSERT_TRUE(std::isnan(back[i])) << i;
    // Halfway between neighbours, and a hair above, which f32 cannot tell from halfway.
    for (uint16_t i = 0; i < infinity - 1; ++i) {
      double middle = (decode16(d, i) + decode16(d, i + 1)) / 2;
      between.set(2 * i, middle);
      between.set(2 * i + 1, std::nextafter(middle, kInfinity));
    }
    Elements rounded = run(*cast_family(d)->find(DType::f64), {&between}, between.size(), between.size());
    for (uint16_t i = 0; i < infinity - 1; ++i) {
      ASSERT_EQ(rounded.as<uint16_t>(2 * i), i % 2 == 0 ? i : i + 1) << i;
      ASSERT_EQ(rounded.as<uint16_t>(2 * i + 1), i + 1) << i;
    }
    // Overflow, and what is too small.
    Elements ends(DType::f64, {1e300, -1e300, 1e-300, kNaN, kInfinity});
    Elements y = run(*cast_family(d)->find(DType::f64), {&ends}, 5, 5);
    EXPECT_EQ(y[0], kInfinity);
    EXPECT_EQ(y[1], -kInfinity);
    EXPECT_EQ(y[2], 0);
    EXPECT_TRUE(std::isnan(y[3]));
    EXPECT_EQ(y[4], kInfinity);
  }
}

}  // namespace
}  // namespace mxc::ndarray
