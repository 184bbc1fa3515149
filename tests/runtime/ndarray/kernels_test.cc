// The kernels of NDArray against plain loops in double, and against the rules that kernels.h states.
#include "runtime/ndarray/kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/core/philox.h"
#include "runtime/core/plan_view.h"

#if defined(__x86_64__)
extern "C" {
extern const mxc::ndarray::KernelFamily mxc_ndarray_kernels_x86_64_v3[], mxc_ndarray_kernels_x86_64[];
extern const int64_t mxc_ndarray_families_x86_64_v3, mxc_ndarray_families_x86_64;
}
#endif

namespace mxc::ndarray {
namespace {

using plan::DType;

constexpr DType kAll[] = {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8, DType::u8, DType::i32, DType::i64, DType::boolean};
constexpr DType kFloats[] = {DType::f32, DType::f64, DType::f16, DType::bf16};
constexpr DType kIntegers[] = {DType::i8, DType::u8, DType::i32, DType::i64};
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

bool is_float(DType d) { return d <= DType::bf16; }
// The distance from 1 to the next number.
double epsilon(DType d) { return d == DType::f64 ? 0x1p-52 : d == DType::f16 ? 0x1p-10 : d == DType::bf16 ? 0x1p-7 : 0x1p-23; }

// A float of `exponent` and `mantissa` bits, as IEEE 754 defines it.
double decode(uint32_t bits, int exponent, int mantissa) {
  int bias = (1 << (exponent - 1)) - 1, e = bits >> mantissa & ((1 << exponent) - 1);
  double fraction = std::ldexp(bits & ((1u << mantissa) - 1), -mantissa), sign = bits >> (exponent + mantissa) ? -1 : 1;
  if (e == (1 << exponent) - 1) return fraction == 0 ? sign * kInfinity : kNaN;
  return sign * (e == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, e - bias));
}
double decode16(DType d, uint16_t bits) { return d == DType::f16 ? decode(bits, 5, 10) : decode(bits, 8, 7); }

struct Count {
  size_t n;
};

// Elements of any type in memory, seen as doubles (exact for the numbers used here).
class Elements {
 public:
  Elements(DType dtype, Count count) : dtype_(dtype), size_(count.n), bytes_(count.n * core::dtype_bytes(dtype)) {}
  Elements(DType dtype, std::vector<double> values) : Elements(dtype, Count{values.size()}) {
    for (size_t i = 0; i < values.size(); ++i) set(i, values[i]);
  }
  void* data() { return bytes_.data(); }
  size_t size() const { return size_; }
  DType dtype() const { return dtype_; }
  bool same(const Elements& other) const { return bytes_ == other.bytes_; }

  double operator[](size_t i) const {
    switch (dtype_) {
      case DType::f32: return as<float>(i);
      case DType::f64: return as<double>(i);
      case DType::f16:
      case DType::bf16: return decode16(dtype_, as<uint16_t>(i));
      case DType::i8: return as<int8_t>(i);
      case DType::u8: return as<uint8_t>(i);
      case DType::i32: return as<int32_t>(i);
      case DType::i64: return static_cast<double>(as<int64_t>(i));
      case DType::boolean: return as<uint8_t>(i);
    }
    return 0;
  }
  // The nearest number; of 16-bit floats by search, so that no conversion of ours is trusted.
  void set(size_t i, double v) {
    switch (dtype_) {
      case DType::f32: return put(i, static_cast<float>(v));
      case DType::f64: return put(i, v);
      case DType::f16:
      case DType::bf16: return put(i, nearest16(v));
      case DType::i8: return put(i, static_cast<int8_t>(v));
      case DType::u8: return put(i, static_cast<uint8_t>(v));
      case DType::i32: return put(i, static_cast<int32_t>(v));
      case DType::i64: return put(i, static_cast<int64_t>(v));
      case DType::boolean: return put(i, static_cast<uint8_t>(v != 0));
    }
  }
  template <typename T>
  T as(size_t i) const {
    T v;
    std::memcpy(&v, bytes_.data() + i * sizeof(T), sizeof(T));
    return v;
  }
  template <typename T>
  void put(size_t i, T v) {
    std::memcpy(bytes_.data() + i * sizeof(T), &v, sizeof(T));
  }

 private:
  uint16_t nearest16(double v) const {
    uint16_t sign = std::signbit(v) ? 0x8000 : 0, low = 0, high = dtype_ == DType::f16 ? 0x7c00 : 0x7f80;
    if (std::isnan(v)) return high | 1;
    v = std::fabs(v);
    while (low + 1 < high) (decode16(dtype_, (low + high) / 2) <= v ? low : high) = (low + high) / 2;
    return sign | (v - decode16(dtype_, low) <= decode16(dtype_, high) - v ? low : high);
  }

  DType dtype_;
  size_t size_;
  std::vector<char> bytes_;
};

Elements run(const Kernel& k, std::vector<Elements*> operands, int64_t n, size_t results) {
  Elements result(k.result, Count{results});
  std::vector<void*> args;
  for (Elements* e : operands) args.push_back(e->data());
  args.push_back(result.data());
  k.run(args.data(), n, 0, cells(k, n));
  return result;
}

void expect_near(double got, double want, double tolerance, const std::string& what) {
  if (std::isnan(want)) EXPECT_TRUE(std::isnan(got)) << what << ": " << got;
  else if (std::isinf(want)) EXPECT_EQ(got, want) << what;
  else EXPECT_LE(std::fabs(got - want), tolerance) << what << ": " << got << ", not " << want;
}

std::vector<double> draw(size_t n, double low, double high, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> values(n);
  for (double& v : values) v = low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
  return values;
}

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
int64_t integer(const Elements& e, size_t i) { return e.dtype() == DType::i64 ? e.as<int64_t>(i) : static_cast<int64_t>(e[i]); }

TEST(Kernels, IntegersWrapAndNeverTrap) {
  using F = std::function<__int128(__int128, __int128)>;
  const std::pair<const char*, F> binary[] = {{"add", [](auto a, auto b) { return a + b; }},
                                              {"sub", [](auto a, auto b) { return a - b; }},
                                              {"mul", [](auto a, auto b) { return a * b; }},
                                              {"div", [](auto a, auto b) { return b == 0 ? 0 : a / b; }},
                                              {"maximum", [](auto a, auto b) { return std::max(a, b); }},
                                              {"minimum", [](auto a, auto b) { return std::min(a, b); }}};
  const std::pair<const char*, F> unary[] = {{"neg", [](auto a, auto) { return -a; }},
                                             {"abs", [](auto a, auto) { return a < 0 ? -a : a; }},
                                             {"square", [](auto a, auto) { return a * a; }},
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

// ---- Reductions: the rule of kernels.h in plain loops --------------------------------------------------------------------------------
template <typename T>
struct Fold {
  const char* name;
  T identity;
  T (*combine)(T, T);
  T (*term)(T);
  T (*finish)(T, int64_t);
};
template <typename T>
std::vector<Fold<T>> folds() {
  auto same = [](T x) { return x; };
  auto kept = [](T x, int64_t) { return x; };
  auto sum = [](T a, T b) { return static_cast<T>(a + b); };
  return {{"reduce_sum", 0, sum, same, kept},
          {"reduce_mean", 0, sum, same, [](T x, int64_t n) { return x / static_cast<T>(n); }},
          {"reduce_prod", 1, [](T a, T b) { return a * b; }, same, kept},
          {"reduce_max", -std::numeric_limits<T>::infinity(), [](T a, T b) { return a > b ? a : b; }, same, kept},
          {"reduce_min", std::numeric_limits<T>::infinity(), [](T a, T b) { return a < b ? a : b; }, same, kept},
          {"norm", 0, sum, [](T x) { return x * x; }, [](T x, int64_t) { return std::sqrt(x); }}};
}

// `runs` of n elements one after another: element i of each in lane i mod lanes; then halves.
template <typename T>
T by_rule(const Fold<T>& fold, const T* x, int64_t runs, int64_t n) {
  constexpr int64_t kLanes = sizeof(T) == 8 ? 8 : 16;
  T lanes[kLanes];
  std::fill(lanes, lanes + kLanes, fold.identity);
  for (int64_t r = 0; r < runs; ++r)
    for (int64_t i = 0; i < n; ++i) lanes[i % kLanes] = fold.combine(lanes[i % kLanes], fold.term(x[r * n + i]));
  for (int64_t half = kLanes / 2; half > 0; half /= 2)
    for (int64_t i = 0; i < half; ++i) lanes[i] = fold.combine(lanes[i], lanes[i + half]);
  return fold.finish(lanes[0], runs * n);
}

template <typename T>
void check_reductions(DType d) {
  for (const Fold<T>& fold : folds<T>()) {
    const Kernel* whole = find_kernel(fold.name, d);
    const Kernel* carried = find_kernel(std::string(fold.name) + ".run", d);
    ASSERT_NE(whole, nullptr) << fold.name;
    ASSERT_EQ(carried == nullptr, std::string(fold.name) == "reduce_mean") << "the mean of several runs needs their count";
    for (int64_t n : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 100, 1000, 4097}) {
      constexpr int64_t kRuns = 3;
      Elements x(d, draw(kRuns * n, 0.5, 1.5, n));
      const T* values = static_cast<const T*>(x.data());
      EXPECT_EQ(run(*whole, {&x}, n, 1).as<T>(0), by_rule(fold, values, 1, n)) << fold.name << " of " << n;
      if (!carried) continue;
      ASSERT_EQ(carried->lanes, sizeof(T) == 8 ? 8 : 16);
      alignas(64) char state[128];
      start(*carried, state);
      T result = 0;
      for (int64_t r = 0; r < kRuns; ++r) {
        void* args[] = {const_cast<T*>(values) + r * n, state, &result};
        carried->run(args, n, 0, cells(*carried, n));
        EXPECT_EQ(result, by_rule(fold, values, r + 1, n)) << fold.name << " of " << r + 1 << " x " << n;
      }
    }
  }
}

TEST(Kernels, ReductionsFollowTheStatedRuleBitForBit) {
  check_reductions<float>(DType::f32);
  check_reductions<double>(DType::f64);
}

TEST(Kernels, ReductionsOfSmallFloatsAndIntegers) {
  for (DType d : {DType::f16, DType::bf16, DType::i8, DType::u8, DType::i32, DType::i64})
    for (int64_t n : {1, 3, 16, 21, 50}) {
      Elements x(d, draw(n, 0, 3, n));
      double sum = 0, max = x[0], min = x[0], product = 1;
      for (int64_t i = 0; i < n; ++i) sum += x[i], max = std::max(max, x[i]), min = std::min(min, x[i]), product *= x[i];
      double e = is_float(d) ? epsilon(d) : 0;
      auto value = [&](const char* name) { return run(*find_kernel(name, d), {&x}, n, 1)[0]; };
      expect_near(value("reduce_sum"), sum, sum * e, "sum");
      EXPECT_EQ(value("reduce_max"), max);
      EXPECT_EQ(value("reduce_min"), min);
      double mean = sum / static_cast<double>(n);
      expect_near(value("reduce_mean"), is_float(d) ? mean : std::trunc(mean), mean * e, "mean");
      if (is_float(d)) expect_near(value("norm"), [&] {
        double squares = 0;
        for (int64_t i = 0; i < n; ++i) squares += x[i] * x[i];
        return std::sqrt(squares);
      }(), sum * e, "norm");
      if (n <= 3) expect_near(value("reduce_prod"), product, product * e * 2, "prod");
    }
}

TEST(Kernels, PlacesOfTheExtremes) {
  Elements x(DType::f32, {3, 9, 1, 9, 1, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 9, 1});
  EXPECT_EQ(run(*find_kernel("argmax", DType::f32), {&x}, x.size(), 1).as<int32_t>(0), 1);
  EXPECT_EQ(run(*find_kernel("argmin", DType::f32), {&x}, x.size(), 1).as<int32_t>(0), 2);
  x.set(17, kNaN);
  EXPECT_EQ(run(*find_kernel("argmax", DType::f32), {&x}, x.size(), 1).as<int32_t>(0), 17);
  EXPECT_EQ(run(*find_kernel("argmin", DType::f32), {&x}, x.size(), 1).as<int32_t>(0), 17);
  for (DType d : kAll) {
    Elements flags(d, {0, 0, 1, 0, 1});
    EXPECT_EQ(run(*find_kernel("argmax", d), {&flags}, 5, 1).as<int32_t>(0), 2) << static_cast<int>(d);
    EXPECT_EQ(run(*find_kernel("argmin", d), {&flags}, 5, 1).as<int32_t>(0), 0) << static_cast<int>(d);
  }
}

TEST(Kernels, SoftmaxOfRows) {
  for (DType d : kFloats)
    for (int64_t n : {1, 3, 10, 16, 37}) {
      Elements x(d, draw(n, -6, 6, n));
      double max = -kInfinity, sum = 0;
      for (int64_t i = 0; i < n; ++i) max = std::max(max, x[i]);
      for (int64_t i = 0; i < n; ++i) sum += std::exp(x[i] - max);
      Elements y = run(*find_kernel("softmax", d), {&x}, n, n), l = run(*find_kernel("log_softmax", d), {&x}, n, n);
      for (int64_t i = 0; i < n; ++i) {
        expect_near(y[i], std::exp(x[i] - max) / sum, 8 * epsilon(d), "softmax");
        expect_near(l[i], x[i] - max - std::log(sum), 16 * 8 * epsilon(d), "log_softmax");
      }
    }
}

// ---- Random numbers ---------------------------------------------------------------------------------------------------------------
TEST(Kernels, RandomNumbersAreThoseOfPhilox) {
  core::PhiloxKey key = core::philox_key(7, 11, 0, 3);
  for (int64_t first : {int64_t{0}, int64_t{5}, int64_t{1} << 33}) {
    constexpr int64_t kSize = 9000;  // of three cells
    auto draws = [&](const char* name, DType d) {
      const Kernel* k = find_kernel(name, d);
      Elements y(k->result, Count{kSize});
      float p = 0.25f;
      void* args[] = {key.word, &first, y.data(), nullptr};
      if (std::string(name) == "random_bernoulli") args[2] = &p, args[3] = y.data();
      EXPECT_EQ(cells(*k, kSize), 3);
      for (int64_t cell : {2, 0, 1}) k->run(args, kSize, cell, cell + 1);
      return y;
    };
    Elements u32 = draws("random_uniform", DType::f32), u64 = draws("random_uniform", DType::f64), kept = draws("random_bernoulli", DType::f32);
    Elements z32 = draws("random_normal", DType::f32), z64 = draws("random_normal", DType::f64);
    for (int64_t i = 0; i < kSize; ++i) {
      auto uniform32 = [&](int64_t e) { return static_cast<double>(core::philox_uniform(core::philox_draw32(key, 0, e))); };
      auto uniform64 = [&](int64_t e) { return core::philox_uniform(core::philox_draw64(key, 0, e)); };
      auto normal = [](double u, double v) { return std::sqrt(-2 * std::log(1 - u)) * std::cos(2 * M_PI * v); };
      int64_t e = first + i;
      ASSERT_EQ(u32[i], uniform32(e));
      ASSERT_EQ(u64[i], uniform64(e));
      ASSERT_EQ(kept[i], uniform32(e) < 0.25);
      expect_near(z32[i], normal(uniform32(2 * e), uniform32(2 * e + 1)), 1e-5, "normal");
      expect_near(z64[i], normal(uniform64(2 * e), uniform64(2 * e + 1)), 1e-13, "normal");
    }
  }
}

// ---- The grid, the table ----------------------------------------------------------------------------------------------------------
TEST(Kernels, CellsInAnyOrderDoTheWholeAndResultsMayLieOverOperands) {
  for (DType d : kAll)
    for (int64_t n : {4095, 4096, 4097, 12300}) {
      const Kernel* k = find_kernel(d == DType::boolean ? "logical_xor" : "sub", d);
      Elements a(d, draw(n, 0, 100, 1)), b(d, draw(n, 0, 100, 2));
      Elements whole = run(*k, {&a, &b}, n, n);
      void* args[] = {a.data(), b.data(), a.data()};
      ASSERT_EQ(cells(*k, n), (n + 4095) / 4096);
      for (int64_t cell = cells(*k, n); cell-- > 0;) k->run(args, n, cell, cell + 1);
      EXPECT_TRUE(a.same(whole)) << static_cast<int>(d) << " " << n;
    }
}

#if defined(__x86_64__)
TEST(Kernels, EveryLevelOfProcessorGivesTheSameBits) {
  if (kernel_level() != "x86-64-v3") GTEST_SKIP() << "this processor runs only the lower level";
  ASSERT_EQ(mxc_ndarray_families_x86_64_v3, mxc_ndarray_families_x86_64);
  std::mt19937_64 random(5);
  int compared = 0;
  for (int64_t f = 0; f < mxc_ndarray_families_x86_64; ++f) {
    const KernelFamily &high = mxc_ndarray_kernels_x86_64_v3[f], &low = mxc_ndarray_kernels_x86_64[f];
    std::string name = high.name;
    ASSERT_EQ(name, low.name);
    if (name.starts_with("random_") || name.ends_with(".run")) continue;
    for (DType d : kAll)
      for (unsigned scalars = 0; scalars < kScalarMasks; ++scalars) {
        const Kernel *a = high.find(d, scalars), *b = low.find(d, scalars);
        ASSERT_EQ(a == nullptr, b == nullptr);
        if (!a) continue;
        constexpr int64_t kSize = 53;
        std::vector<Elements> operands;
        for (int i = 0; i < high.operands; ++i) {
          operands.emplace_back(name == "where" && i == 0 ? DType::boolean : d, Count{kSize});
          size_t bytes = core::dtype_bytes(operands.back().dtype());
          bool truth = operands.back().dtype() == DType::boolean;
          for (size_t j = 0; j < kSize * bytes; ++j) operands.back().put<uint8_t>(j, static_cast<uint8_t>(random() >> 7 & (truth ? 1 : 255)));
          // Half of them of a moderate size.
          if (is_float(d) && !truth)
            for (int64_t j = 0; j < kSize; j += 2) operands.back().set(j, static_cast<double>(random() % 1000) / 64 - 7);
        }
        std::vector<Elements*> pointers;
        for (Elements& e : operands) pointers.push_back(&e);
        Elements x = run(*a, pointers, kSize, kSize), y = run(*b, pointers, kSize, kSize);
        for (size_t i = 0; i < kSize; ++i) {
          bool nan = is_float(x.dtype()) && std::isnan(x[i]) && std::isnan(y[i]);
          ASSERT_TRUE(nan || (x[i] == y[i] && std::signbit(x[i]) == std::signbit(y[i])))
              << name << "." << static_cast<int>(d) << "." << scalars << " element " << i << ": " << x[i] << " " << y[i];
        }
        ++compared;
      }
  }
  EXPECT_GT(compared, 500);
}
#endif

TEST(Kernels, WhatThereIsNot) {
  EXPECT_EQ(find_family("frobnicate"), nullptr);
  EXPECT_EQ(find_family(""), nullptr);
  EXPECT_EQ(find_kernel("zzz", DType::f32), nullptr);
  EXPECT_EQ(find_kernel("add", DType::f32, 3), nullptr) << "all operands single";
  EXPECT_EQ(find_kernel("add", DType::f32, 8), nullptr);
  EXPECT_EQ(find_kernel("add", DType::boolean), nullptr);
  EXPECT_EQ(find_kernel("exp", DType::i32), nullptr);
  EXPECT_EQ(find_kernel("pow", DType::i64), nullptr);
  EXPECT_EQ(find_kernel("softmax", DType::i32), nullptr);
  EXPECT_EQ(cast_family(DType::f32)->find(DType::f32), nullptr);
}

}  // namespace
}  // namespace mxc::ndarray
