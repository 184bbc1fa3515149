// Packing against positions computed index by index, and unpacking as its inverse.
#include "runtime/core/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/core/plan_view.h"
#include "tests/runtime/plan_builder.h"

namespace mxc::core {
namespace {

using namespace mxc::test;

constexpr unsigned char kUntouched = 0xa5;

// The physical position (in elements) of a logical index, straight from the definition in plan.h.
int64_t position_of(const plan::Buffer& b, const std::vector<int64_t>& index) {
  int64_t position = 0;
  for (int place = 0; place < b.rank; ++place) {
    int axis = b.order[place];
    bool blocked = axis == b.block_axis;
    int64_t extent = blocked ? (b.dims[axis] + b.block - 1) / b.block : b.dims[axis];
    position = position * extent + (blocked ? index[axis] / b.block : index[axis]);
  }
  return b.block_axis < 0 ? position : position * b.block + index[b.block_axis] % b.block;
}

bool next(const plan::Buffer& b, int64_t n, std::vector<int64_t>& index) {
  for (int axis = b.rank - 1; axis >= 0; --axis) {
    if (++index[static_cast<size_t>(axis)] < extent(b, axis, n)) return true;
    index[static_cast<size_t>(axis)] = 0;
  }
  return false;
}

// In parts of one row, of as many as give a few bytes, and of all but one, what is packed whole.
template <typename T>
void check_rows(const plan::Buffer& b, int64_t n, const std::vector<T>& plain, const std::vector<unsigned char>& whole) {
  const int64_t rows = b.rank == 0 ? 1 : extent(b, 0, n), block = b.block_axis == 0 ? b.block : 1;
  for (int64_t step : {rows_within(b, 0), rows_within(b, 64), std::max<int64_t>(1, (rows - 1) / block) * block}) {
    ASSERT_EQ(step % block == 0 || step == rows, true) << step;
    std::vector<unsigned char> physical(whole.size(), kUntouched);
    std::vector<T> back(plain.size());
    const size_t row = plain.size() / static_cast<size_t>(rows);
    for (int64_t first = 0; first < rows; first += step) {
      const int64_t count = std::min(step, rows - first);
      const size_t at = static_cast<size_t>(first) * row;
      pack_rows(b, n, first, count, plain.data() + at, physical.data());
      unpack_rows(b, n, first, count, whole.data(), back.data() + at);
    }
    EXPECT_EQ(physical, whole) << step;
    EXPECT_EQ(back, plain) << step;
  }
}

template <typename T>
void check(const BufferSpec& spec, int64_t n) {
  PlanBuilder builder;
  builder.buffer(spec);
  BuiltPlan built = builder.build();
  PlanView view;
  Status status = PlanView::open(built.program(), &view);
  ASSERT_TRUE(status.ok()) << status.text;
  const plan::Buffer& b = view.buffer(0);
  std::vector<T> plain(static_cast<size_t>(elements(b, n))), back(plain.size());
  for (size_t i = 0; i < plain.size(); ++i) plain[i] = static_cast<T>(i % 100 + 1);
  std::vector<unsigned char> physical(b.bytes, kUntouched);
  ASSERT_EQ(plain_bytes(b, n), plain.size() * sizeof(T));
  pack(b, n, plain.data(), physical.data());
  std::vector<int64_t> index(b.rank, 0);
  const T* packed = reinterpret_cast<const T*>(physical.data());
  size_t at = 0;
  do {
    ASSERT_EQ(packed[position_of(b, index)], plain[at]) << at;
    ASSERT_LT(static_cast<uint64_t>(position_of(b, index)) * sizeof(T), used_bytes(b, n));
    ++at;
  } while (next(b, n, index));
  unpack(b, n, physical.data(), back.data());
  EXPECT_EQ(back, plain);
  // Whatever else is either untouched or padding, and padding is zero.
  uint64_t touched = 0, zero = 0;
  for (uint64_t i = 0; i < b.bytes / sizeof(T); ++i) {
    T untouched;
    std::memset(&untouched, kUntouched, sizeof untouched);
    touched += packed[i] != untouched ? 1 : 0;
    zero += packed[i] == T(0) ? 1 : 0;
  }
  uint64_t padded = plain.size();
  if (b.block_axis >= 0) {
    uint64_t extent = static_cast<uint64_t>(b.dims[b.block_axis]), block = static_cast<uint64_t>(b.block);
    padded = plain.size() / extent * ((extent + block - 1) / block * block);
  }
  EXPECT_EQ(touched, padded);
  EXPECT_EQ(zero, padded - plain.size());
  check_rows(b, n, plain, physical);
}

TEST(Layout, Plain) {
  check<float>({.dims = {}}, 0);
  check<float>({.dims = {1}}, 0);
  check<double>({.dims = {3, 5}, .dtype = plan::DType::f64}, 0);
  check<float>({.dims = {6, 5}, .batch_axis = 0}, 4);
  check<float>({.dims = {6, 5}, .batch_axis = 0, .batch_unit = 3}, 1);
}

TEST(Layout, Permuted) {
  check<float>({.dims = {3, 4, 5}, .order = {2, 0, 1}}, 0);
  check<uint16_t>({.dims = {3, 4}, .dtype = plan::DType::f16, .order = {1, 0}}, 0);
  check<int64_t>({.dims = {2, 3, 4, 5}, .dtype = plan::DType::i64, .order = {0, 2, 3, 1}}, 0);
}

TEST(Layout, BatchOnAnyAxis) {
  check<float>({.dims = {3, 8}, .batch_axis = 1}, 5);
  check<float>({.dims = {3, 8}, .batch_axis = 1, .order = {1, 0}}, 5);
  check<uint8_t>({.dims = {3, 8, 2}, .dtype = plan::DType::u8, .batch_axis = 1, .batch_unit = 2}, 3);
}

TEST(Layout, Blocked) {
  // Activations N C/16 H W 16c, with and without padding, whole and short batch.
  check<float>({.dims = {2, 32, 3, 3}, .order = {0, 1, 2, 3}, .block_axis = 1, .block = 16}, 0);
  check<float>({.dims = {4, 19, 3, 2}, .batch_axis = 0, .block_axis = 1, .block = 16}, 4);
  check<float>({.dims = {4, 19, 3, 2}, .batch_axis = 0, .block_axis = 1, .block = 16}, 2);
  check<double>({.dims = {5, 3}, .dtype = plan::DType::f64, .block_axis = 1, .block = 4}, 0);
  check<float>({.dims = {7, 3}, .order = {1, 0}, .block_axis = 0, .block = 4}, 0);
  check<int8_t>({.dims = {1, 1}, .dtype = plan::DType::i8, .order = {1, 0}, .block_axis = 0, .block = 16}, 0);
  check<float>({.dims = {33}, .block_axis = 0, .block = 8}, 0);
}

TEST(Layout, BlockedWeights) {
  // [OC][IC][KH][KW] as OC/16 outermost, the channels of a block innermost.
  check<float>({.dims = {20, 5, 3, 3}, .order = {0, 2, 3, 1}, .block_axis = 0, .block = 16}, 0);
}

TEST(Layout, FindsValuesOutOfBounds) {
  plan::Buffer b = {};
  b.rank = 1;
  b.batch_axis = 0;
  b.batch_unit = 1;
  b.block_axis = -1;
  b.dims[0] = 4;
  b.dtype = plan::DType::i32;
  b.upper_bound = 10;
  int32_t values[] = {0, 9, 10, -1};
  EXPECT_EQ(find_out_of_bounds(b, 4, values), 2);
  EXPECT_EQ(find_out_of_bounds(b, 2, values), -1);
  values[1] = -1;
  EXPECT_EQ(find_out_of_bounds(b, 4, values), 1);
  b.upper_bound = 0;
  EXPECT_EQ(find_out_of_bounds(b, 4, values), -1);
  b.upper_bound = 10;
  b.dtype = plan::DType::u8;
  uint8_t bytes[] = {0, 200};
  EXPECT_EQ(find_out_of_bounds(b, 2, bytes), 1);
}

}  // namespace
}  // namespace mxc::core
