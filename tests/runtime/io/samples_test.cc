// Samples against buffers whose batch axis is not the first, checked by plain index arithmetic.
#include "runtime/io/samples.h"

#include <gtest/gtest.h>

#include "tests/runtime/plan_builder.h"

namespace mxc::io {
namespace {

using namespace mxc::test;

plan::Buffer make(const BufferSpec& spec) {
  PlanBuilder builder;
  const uint32_t index = builder.buffer(spec);
  BuiltPlan built = builder.build();
  return built.records<plan::Buffer>(built.header().buffers)[index];
}

TEST(Samples, Shapes) {
  EXPECT_EQ(sample_shape(make({.dims = {8, 3, 2}, .batch_axis = 0})), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(sample_shape(make({.dims = {5, 8, 2}, .batch_axis = 1})), (std::vector<int64_t>{5, 2}));
  EXPECT_EQ(sample_shape(make({.dims = {8 * 3, 2}, .batch_axis = 0, .batch_unit = 3})), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(sample_shape(make({.dims = {8}, .batch_axis = 0})), std::vector<int64_t>{});
  EXPECT_TRUE(is_sample_major(make({.dims = {8, 3, 2}, .batch_axis = 0})));
  EXPECT_FALSE(is_sample_major(make({.dims = {5, 8, 2}, .batch_axis = 1})));
  EXPECT_FALSE(is_sample_major(make({.dims = {8, 3, 2}, .batch_axis = 0, .order = {0, 2, 1}})));
  EXPECT_FALSE(is_sample_major(make({.dims = {8, 3}, .batch_axis = 0, .block_axis = 1, .block = 4})));
}

// A time-major batch: buffer [time 5][sample 8][feature 2], three samples in use, strides of the compiled eight.
TEST(Samples, BatchAxisInTheMiddle) {
  const plan::Buffer buffer = make({.dims = {5, 8, 2}, .batch_axis = 1});
  constexpr int64_t kN = 3;
  std::vector<float> rows(kN * 5 * 2), physical(5 * 8 * 2, -1), back(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i);
  std::vector<char> scratch;
  pack_samples(buffer, kN, rows.data(), &scratch, physical.data());
  for (int64_t t = 0; t < 5; ++t) {
    for (int64_t s = 0; s < 8; ++s) {
      for (int64_t f = 0; f < 2; ++f) {
        EXPECT_EQ(physical[(t * 8 + s) * 2 + f], s < kN ? static_cast<float>((s * 5 + t) * 2 + f) : -1);
      }
    }
  }
  unpack_samples(buffer, kN, physical.data(), &scratch, back.data());
  EXPECT_EQ(back, rows);
}

TEST(Samples, UnitAboveOneAndTransposed) {
  // [3][sample x unit 2] stored column by column.
  const plan::Buffer buffer = make({.dims = {3, 4 * 2}, .batch_axis = 1, .batch_unit = 2, .order = {1, 0}});
  std::vector<float> rows(2 * 3 * 2), physical(3 * 8, -1), back(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i);
  std::vector<char> scratch;
  pack_samples(buffer, 2, rows.data(), &scratch, physical.data());
  for (int64_t s = 0; s < 2; ++s) {
    for (int64_t a = 0; a < 3; ++a) {
      for (int64_t u = 0; u < 2; ++u) EXPECT_EQ(physical[(s * 2 + u) * 3 + a], static_cast<float>((s * 3 + a) * 2 + u));
    }
  }
  unpack_samples(buffer, 2, physical.data(), &scratch, back.data());
  EXPECT_EQ(back, rows);
}

}  // namespace
}  // namespace mxc::io
