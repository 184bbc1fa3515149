// Cases of a convolution before a pooling, which become one kernel: sizes that cut its rows into several blocks, with and without rows in
// common; padding on both sides of the blocks; channels that fill no vector; elementwise work between the two and behind.
#include <cmath>
#include <limits>

#include "ir/make.h"
#include "ir/ops/conv.h"
#include "ir/ops/elementwise.h"
#include "ir/ops/pool.h"
#include "tests/compiler/ops/op_case.h"

namespace mxc::ops_test {
namespace {

using namespace mlir;

struct Windows {
  int64_t channels, height, width, filters;  // of the convolution, whose kernel is 3x3 or 1x1
  int64_t size = 3, pad = 1;
  int64_t window, stride, windowPad = 0;
  bool ceil = false, max = true, around = false;  // around: tanh between, square behind
  bool differentiable = true;
};

double convolved(const Arrays& in, const Windows& c, const Place& p) {
  double sum = in[2]({p[1]});
  for (int64_t i = 0; i < c.channels; ++i)
    for (int64_t r = 0; r < c.size; ++r)
      for (int64_t s = 0; s < c.size; ++s) {
        int64_t h = p[2] + r - c.pad, w = p[3] + s - c.pad;
        if (h >= 0 && h < c.height && w >= 0 && w < c.width) sum += in[0]({p[0], i, h, w}) * in[1]({p[1], i, r, s});
      }
  return c.around ? std::tanh(sum) : sum;
}

OpCase windows(std::string what, Windows c) {
  const int64_t h = c.height + 2 * c.pad - c.size + 1, w = c.width + 2 * c.pad - c.size + 1;
  auto count = [c](int64_t size) { return (size + 2 * c.windowPad - c.window + (c.ceil ? c.stride - 1 : 0)) / c.stride + 1; };
  auto reference = [=](const Arrays& in) {
    Array rows = tabulate({in[0].dims[0], c.filters, h, w}, [&](const Place& p) { return convolved(in, c, p); });
    return Arrays{tabulate({in[0].dims[0], c.filters, count(h), count(w)}, [&](const Place& p) {
      double best = -std::numeric_limits<double>::infinity(), sum = 0;
      for (int64_t i = 0; i < c.window * c.window; ++i) {
        Place from = {p[0], p[1], p[2] * c.stride + i / c.window - c.windowPad, p[3] * c.stride + i % c.window - c.windowPad};
        if (from[2] < 0 || from[2] >= h || from[3] < 0 || from[3] >= w) continue;
        best = std::max(best, rows(from));
        sum += rows(from);
      }
      double value = c.max ? best : sum / static_cast<double>(c.window * c.window);
      return c.around ? value * value : value;
    })};
  };
  OpCase result{"windows/" + what, "", "", {real({kN, c.channels, c.height, c.width}, -1, 1), real({c.filters, c.channels, c.size, c.size}, -1, 1), real({c.filters})},
                reference};
  if (c.differentiable) result.differentiable = {0, 1, 2};
  result.build = [c](OpBuilder& b, Location loc, ValueRange x) -> SmallVector<Value> {
    auto pair = [&](StringRef name, int64_t value) { return b.getNamedAttr(name, b.getDenseI64ArrayAttr({value, value})); };
    Value y = make<mx::Conv2dOp>(b, loc, x, {b.getNamedAttr("filters", b.getI64IntegerAttr(c.filters)), pair("kernel", c.size), pair("pad", c.pad)});
    if (c.around) y = make<mx::TanhOp>(b, loc, {y});
    SmallVector<NamedAttribute> attributes = {pair("kernel", c.window), pair("stride", c.stride), pair("pad", c.windowPad),
                                              b.getNamedAttr("ceil_mode", b.getBoolAttr(c.ceil))};
    y = c.max ? makeAs<mx::MaxPoolOp>(b, loc, {y}, attributes, 2).getOutput() : make<mx::AvgPoolOp>(b, loc, {y}, attributes);
    return {c.around ? make<mx::MulOp>(b, loc, {y, y}) : y};
  };
  return result;
}

}  // namespace

std::vector<OpCase> windowCases() {
  return {
      windows("halves", {.channels = 3, .height = 8, .width = 6, .filters = 16, .window = 2, .stride = 2}),
      windows("overlapping", {.channels = 2, .height = 7, .width = 7, .filters = 20, .window = 3, .stride = 2, .differentiable = false}),
      windows("padded", {.channels = 9, .height = 5, .width = 6, .filters = 17, .window = 3, .stride = 2, .windowPad = 1, .differentiable = false}),
      windows("ceil", {.channels = 2, .height = 6, .width = 8, .filters = 33, .window = 3, .stride = 2, .ceil = true, .differentiable = false}),
      windows("mean", {.channels = 2, .height = 6, .width = 6, .filters = 8, .window = 2, .stride = 2, .max = false, .around = true}),
      windows("gaps", {.channels = 2, .height = 8, .width = 7, .filters = 16, .window = 1, .stride = 3, .around = true, .differentiable = false}),
      windows("one", {.channels = 3, .height = 3, .width = 3, .filters = 16, .pad = 0, .window = 1, .stride = 1}),
      // 3,840 bytes a row: blocks of four windows, the last of two.
      windows("blocks", {.channels = 2, .height = 20, .width = 60, .filters = 20, .window = 2, .stride = 2, .around = true, .differentiable = false}),
      // 9,600 bytes a row: blocks of six windows with a row in common, the last of two.
      windows("overlapping_blocks", {.channels = 1, .height = 30, .width = 150, .filters = 17, .window = 3, .stride = 2, .windowPad = 1, .differentiable = false}),
      windows("one_by_one", {.channels = 20, .height = 24, .width = 90, .filters = 16, .size = 1, .pad = 0, .window = 2, .stride = 2, .differentiable = false}),
  };
}

}  // namespace mxc::ops_test
