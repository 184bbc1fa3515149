// A convolution in the kernel of its pooling, against the convolution in a kernel of its own and plain loops over what that gives: the same
// bits, whatever the layouts, the processor, the batch and the cut.
#include "gtest/gtest.h"

#include <cstring>
#include <limits>

#include "tests/compiler/codegen/op_cases.h"

namespace mxc {
namespace {

struct Window {
  int64_t size, stride, pad = 0;
  int64_t count(int64_t length) const { return (length + 2 * pad - size) / stride + 1; }
};

template <typename T>
void check(const ConvShape& s, const Window& w, OpCase conv) {
  conv.element = sizeof(T) == 8 ? "f64" : "f32";
  conv.after = "tanh";
  OpCase both = conv;
  both.windows = pairText("kernel", w.size, w.size) + ", " + pairText("stride", w.stride, w.stride) + ", " + pairText("pad", w.pad, w.pad);
  both.pooled = {{s.n, s.oc, w.count(s.oh()), w.count(s.ow())}, 0};
  auto alone = OpProgram::compile(conv), fused = OpProgram::compile(both);
  ASSERT_TRUE(alone && fused);
  const Placement &rows = alone->result(), &result = fused->result();
  std::vector<T> x = randomElements<T>(fused->operand(0).elements, 1), weight = randomElements<T>(fused->operand(1).elements, 2);
  for (int64_t n : {s.n, int64_t{1}}) {
    std::vector<T> made(rows.elements), whole(result.elements, 7), pieces(result.elements, 7), want(result.elements, 7);
    alone->run({x.data(), weight.data(), made.data()}, n);
    fused->run({x.data(), weight.data(), whole.data()}, n);
    fused->run({x.data(), weight.data(), pieces.data()}, n, 5);
    for (int64_t i = 0; i < n * s.oc * w.count(s.oh()) * w.count(s.ow()); ++i) {
      int64_t column = i % w.count(s.ow()), row = i / w.count(s.ow()) % w.count(s.oh()), plane = i / w.count(s.ow()) / w.count(s.oh());
      T best = -std::numeric_limits<T>::infinity();
      for (int64_t tap = 0; tap < w.size * w.size; ++tap) {
        int64_t h = row * w.stride + tap / w.size - w.pad, q = column * w.stride + tap % w.size - w.pad;
        if (h >= 0 && h < s.oh() && q >= 0 && q < s.ow()) best = std::max(best, made[rows.at({plane / s.oc, plane % s.oc, h, q})]);
      }
      want[result.at({plane / s.oc, plane % s.oc, row, column})] = best;
    }
    EXPECT_EQ(0, std::memcmp(whole.data(), want.data(), want.size() * sizeof(T))) << "n = " << n;
    EXPECT_EQ(0, std::memcmp(pieces.data(), want.data(), want.size() * sizeof(T))) << "n = " << n << ", in pieces";
  }
}

const ConvShape kTails = {.n = 2, .ic = 3, .h = 21, .w = 50, .oc = 20, .kh = 3, .kw = 3, .pad = 1};
const ConvShape kStem = {.n = 2, .ic = 3, .h = 47, .w = 61, .oc = 16, .kh = 7, .kw = 7, .stride = 2, .pad = 3};
const ConvShape kDeep = {.n = 2, .ic = 96, .h = 14, .w = 13, .oc = 48, .kh = 3, .kw = 3, .pad = 1};

TEST(Windows, AreOfTheRowsThatTheConvolutionMakes) {
  for (const Window& w : {Window{2, 2}, Window{3, 2}, Window{3, 2, 1}, Window{3, 3}, Window{2, 1}}) {
    SCOPED_TRACE(testing::Message() << "windows of " << w.size << " every " << w.stride << " pad " << w.pad);
    check<float>(kTails, w, convCase(kTails, Direction::forward));
  }
  check<double>(kTails, {3, 2, 1}, convCase(kTails, Direction::forward));
  check<float>(kStem, {3, 2}, convCase(kStem, Direction::forward));
  check<float>(kDeep, {2, 2}, convCase(kDeep, Direction::forward));
}

// Rows that are cut into many blocks.
TEST(Windows, OfWideRows) {
  const ConvShape wide = {.n = 1, .ic = 2, .h = 40, .w = 200, .oc = 16, .kh = 3, .kw = 3, .pad = 1};
  for (const Window& w : {Window{2, 2}, Window{3, 2, 1}}) check<float>(wide, w, convCase(wide, Direction::forward));
}

// Not in blocks of channels: no register tiles.
TEST(Windows, OfRowMajorTensors) {
  OpCase c = convCase(kTails, Direction::forward);
  c.wished = false;
  check<float>(kTails, {3, 2, 1}, c);
}

TEST(Windows, OnOtherVectorUnits) {
  for (auto [bytes, registers] : {std::pair{16, 16}, {64, 32}}) {
    OpCase c = convCase(kDeep, Direction::forward);
    c.registerBytes = bytes;
    c.registers = registers;
    check<float>(kDeep, {3, 2}, c);
  }
}

}  // namespace
}  // namespace mxc
