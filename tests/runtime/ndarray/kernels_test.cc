// Random numbers, the grid of cells, the levels of processor, and what the table of kernels holds.
#include <cmath>
#include <string>
#include <vector>

#include "runtime/core/philox.h"
#include "tests/runtime/ndarray/kernel_elements.h"

#if defined(__x86_64__)
extern "C" {
extern const mxc::ndarray::KernelFamily mxc_ndarray_kernels_x86_64_v3[], mxc_ndarray_kernels_x86_64[];
extern const int64_t mxc_ndarray_families_x86_64_v3, mxc_ndarray_families_x86_64;
}
#endif

namespace mxc::ndarray {
namespace {

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
  EXPECT_EQ(find_kernel("pow", DType::boolean), nullptr);
  EXPECT_EQ(find_kernel("softmax", DType::i32), nullptr);
  EXPECT_EQ(cast_family(DType::f32)->find(DType::f32), nullptr);
}

}  // namespace
}  // namespace mxc::ndarray
