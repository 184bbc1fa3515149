#include "runtime/io/table.h"

#include <gtest/gtest.h>

#include "runtime/io/bind.h"

namespace mxc::io {
namespace {

TEST(ShapesAgree, UpToOnesAndFlattening) {
  EXPECT_TRUE(shapes_agree({1, 28, 28}, {28, 28}));
  EXPECT_TRUE(shapes_agree({1, 28, 28}, {784}));
  EXPECT_TRUE(shapes_agree({3072}, {3, 32, 32}));
  EXPECT_TRUE(shapes_agree({}, {1}));
  EXPECT_TRUE(shapes_agree({}, {}));
  EXPECT_FALSE(shapes_agree({3, 32, 32}, {32, 32, 3}));  // as many numbers, another meaning
  EXPECT_FALSE(shapes_agree({28, 28}, {28, 27}));
  EXPECT_FALSE(shapes_agree({2}, {}));
}

TEST(Table, HalfPrecisionInputsAreNamedAsUnsupported) {
  Column column;
  column.name = "x";
  column.bytes = "ab";
  const Uri uri = *parse_uri("npz:f");
  const auto table = make_table(uri, {}, {{"x", plan::DType::f16, {}, 0, false}}, {column});
  EXPECT_EQ(table.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(table.status().message(), "input 'x': data of type f16");
}

TEST(Table, OneColumnMayServeTwoInputs) {
  Column column;
  column.name = "x";
  column.bytes = "ab";
  const Uri uri = *parse_uri("npz:f?y=x");
  const auto table = make_table(uri, {}, {{"x", plan::DType::f32, {}, 0, false}, {"y", plan::DType::i32, {}, 0, false}}, {column});
  ASSERT_TRUE(table.ok()) << table.status();
  const int64_t row = 1;
  float x = 0;
  int32_t y = 0;
  ASSERT_TRUE((*table)->read(0, &row, 1, &x).ok() && (*table)->read(1, &row, 1, &y).ok());
  EXPECT_EQ(x, 98);
  EXPECT_EQ(y, 98);
}

}  // namespace
}  // namespace mxc::io
