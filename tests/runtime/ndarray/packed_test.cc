// Arrays over packed memory: they behave as plain ones, and updates run over the memory as it lies.
#include <gtest/gtest.h>

#include "runtime/core/layout.h"
#include "runtime/engine/default_engine.h"
#include "runtime/ndarray/packed.h"
#include "tests/runtime/ndarray/expected.h"

namespace mxc {
namespace {

// [20, 3] with the first axis in blocks of 16, as weights lie: 2 x 3 x 16 elements, 36 of padding.
std::shared_ptr<const plan::Buffer> layout(int32_t block = 16) {
  auto buffer = std::make_shared<plan::Buffer>(plan::Buffer{});
  buffer->dtype = plan::DType::f32;
  buffer->rank = 2;
  buffer->batch_axis = -1;
  buffer->block_axis = 0;
  buffer->block = block;
  buffer->order[0] = 0, buffer->order[1] = 1;
  buffer->dims[0] = 20, buffer->dims[1] = 3;
  buffer->bytes = static_cast<uint64_t>((20 + block - 1) / block * block) * 3 * 4;
  return buffer;
}

// A parameter: foreign memory that an array shows.
struct Packed {
  explicit Packed(float factor, int32_t block = 16) : buffer(layout(block)), owner(std::make_shared<std::vector<float>>(buffer->bytes / 4)), memory(*owner) {
    for (int i = 0; i < 60; ++i) plain.push_back(static_cast<float>(i) * factor);
    core::pack(*buffer, 0, plain.data(), memory.data());
    engine::Engine& engine = engine::default_engine();
    array = ndarray::wrap({ndarray::adopt(engine, engine.variable("parameter"), memory.data(), buffer->bytes, owner), plan::DType::f32, 0,
                           {20, 3}, {3, 1}, buffer});
  }
  // Of the memory itself.
  std::vector<float> unpacked() const {
    array.wait();
    std::vector<float> values(60);
    core::unpack(*buffer, 0, memory.data(), values.data());
    return values;
  }
  bool padding_is_zero() const {
    array.wait();
    std::vector<float> again(memory.size());
    const std::vector<float> values = unpacked();
    core::pack(*buffer, 0, values.data(), again.data());
    return again == memory;
  }

  std::shared_ptr<const plan::Buffer> buffer;
  std::shared_ptr<std::vector<float>> owner;  // operations may still run when this object goes
  std::vector<float>& memory;
  std::vector<float> plain;
  NDArray array;
};

std::vector<float> mapped(const std::vector<float>& x, const std::vector<float>& y, auto f) {
  std::vector<float> out;
  for (size_t i = 0; i < x.size(); ++i) out.push_back(f(x[i], y[i]));
  return out;
}

TEST(Packed, LooksPlain) {
  Packed w(1);
  EXPECT_EQ(w.array.to_vector<float>(), w.plain);
  EXPECT_EQ(w.array[17].to_vector<float>(), (std::vector<float>{51, 52, 53}));
  EXPECT_EQ(w.array.transpose().shape(), (Extents{3, 20}));
  EXPECT_EQ(w.array.at({19, 2}).item<float>(), 59);
  EXPECT_EQ(sum(w.array).item<float>(), 59 * 30);
  EXPECT_EQ(matmul(w.array.transpose(), NDArray::ones({20})).to_vector<float>()[0], 570);
  EXPECT_EQ((w.array + 1).to_vector<float>()[59], 60);
  EXPECT_EQ(error_of([&] { w.array.data<float>(); }), "data: the array of shape {20, 3} is not contiguous in memory: take contiguous()");
}

TEST(Packed, UpdatesRunOverTheMemoryAsItLies) {
  Packed w(1), g(0.25);
  NDArray product = 2 * g.array;
  EXPECT_NE(ndarray::view_of(product).packed, nullptr);
  w.array -= 0.1f * g.array;
  EXPECT_EQ(w.unpacked(), mapped(w.plain, g.plain, [](float x, float y) {
              volatile float scaled = 0.1f * y;
              return x - scaled;
            }));
  w.array += g.array * g.array;
  w.array *= 0.5;
  EXPECT_TRUE(w.padding_is_zero());
  EXPECT_EQ(product.to_vector<float>(), mapped(g.plain, g.plain, [](float x, float) { return 2 * x; }));
}

TEST(Packed, WhatIsNotZeroAtZeroGoesByThePlainForm) {
  Packed w(1), g(0.25);
  w.array += 1;
  EXPECT_EQ(w.unpacked(), mapped(w.plain, g.plain, [](float x, float) { return x + 1; }));
  EXPECT_TRUE(w.padding_is_zero());
  w.array /= g.array + 1;
  EXPECT_EQ(w.unpacked(), mapped(w.plain, g.plain, [](float x, float y) { return (x + 1) / (y + 1); }));
  w.array *= std::numeric_limits<float>::infinity();  // 0 * inf is no 0
  EXPECT_TRUE(w.padding_is_zero());
}

TEST(Packed, WritesThroughViewsAndFromPlainArrays) {
  Packed w(1);
  w.array[18] = 7;
  w.array.slice(1, 0, 1) += 100;
  std::vector<float> expected = w.plain;
  for (int i = 54; i < 57; ++i) expected[i] = 7;
  for (int i = 0; i < 60; i += 3) expected[i] += 100;
  EXPECT_EQ(w.unpacked(), expected);
  w.array.assign(NDArray::arange(0, 3));
  EXPECT_EQ(w.array[11].to_vector<float>(), (std::vector<float>{0, 1, 2}));
  w.array.fill(4);
  EXPECT_EQ(w.unpacked(), std::vector<float>(60, 4));
  EXPECT_TRUE(w.padding_is_zero());
}

TEST(Packed, LayoutsThatDifferAndPlainOperands) {
  Packed w(1), other(1, 8);
  w.array += other.array;
  EXPECT_EQ(w.unpacked(), mapped(w.plain, w.plain, [](float x, float y) { return x + y; }));
  w.array -= NDArray::from(w.plain, {20, 3});
  EXPECT_EQ(w.unpacked(), w.plain);
  other.array.assign(w.array * 2);
  EXPECT_EQ(other.unpacked(), mapped(w.plain, w.plain, [](float x, float y) { return x + y; }));
  EXPECT_TRUE(other.padding_is_zero());
  Packed same(3);
  same.array.assign(w.array);
  EXPECT_EQ(same.memory.size(), w.memory.size());
  EXPECT_EQ(same.unpacked(), w.plain);
}

TEST(Packed, WritersAreSeenInTheVersion) {
  Packed w(1);
  const auto chunk = ndarray::view_of(w.array).chunk;
  const uint64_t before = chunk->version();
  NDArray read = w.array + 1;
  EXPECT_EQ(chunk->version(), before);
  w.array += 1;
  EXPECT_GT(chunk->version(), before);
}

}  // namespace
}  // namespace mxc
