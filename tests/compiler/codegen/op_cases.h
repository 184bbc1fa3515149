// The contractions of the networks we know, as cases for OpProgram, with plain loops in double as their witness.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "tests/compiler/codegen/op_program.h"

namespace mxc {

struct ConvShape {
  int64_t n = 1, ic = 1, h = 1, w = 1, oc = 1, kh = 1, kw = 1, stride = 1, pad = 0, dilation = 1, groups = 1;
  int64_t oh() const { return (h + 2 * pad - dilation * (kh - 1) - 1) / stride + 1; }
  int64_t ow() const { return (w + 2 * pad - dilation * (kw - 1) - 1) / stride + 1; }
  double flops() const { return 2.0 * n * oc * oh() * ow() * (ic / groups) * kh * kw; }
  OpTensor x() const { return {{n, ic, h, w}, 0}; }
  OpTensor weight() const { return {{oc, ic / groups, kh, kw}, -1}; }
  OpTensor y() const { return {{n, oc, oh(), ow()}, 0}; }
};

inline std::string pairText(const char* name, int64_t a, int64_t b) {
  return std::string(name) + " = array<i64: " + std::to_string(a) + ", " + std::to_string(b) + ">";
}
inline std::string convAttributes(const ConvShape& s) {
  return pairText("stride", s.stride, s.stride) + ", " + pairText("pad", s.pad, s.pad) + ", " + pairText("dilation", s.dilation, s.dilation) +
         ", groups = " + std::to_string(s.groups) + " : i64";
}

// Between -1 and 1.
template <typename T>
std::vector<T> randomElements(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<T> values(count);
  for (T& v : values) v = static_cast<T>(uniform(random));
  return values;
}

enum class Direction { forward, data, weight };

inline OpCase opCase(const std::string& op, const std::string& attributes, const std::vector<OpTensor>& operands, const OpTensor& result) {
  OpCase c;
  c.op = op;
  c.attributes = attributes;
  c.operands = operands;
  c.result = result;
  return c;
}

inline OpCase convCase(const ConvShape& s, Direction direction) {
  switch (direction) {
    case Direction::forward:
      return opCase("conv2d", convAttributes(s) + ", filters = " + std::to_string(s.oc) + " : i64, " + pairText("kernel", s.kh, s.kw),
                    {s.x(), s.weight()}, s.y());
    case Direction::data: return opCase("conv2d_backward_data", convAttributes(s) + ", " + pairText("size", s.h, s.w), {s.y(), s.weight()}, s.x());
    default: return opCase("conv2d_backward_weight", convAttributes(s) + ", " + pairText("kernel", s.kh, s.kw), {s.x(), s.y()}, s.weight());
  }
}

// The result of `direction` by plain loops for batch n: a and b are the operands, by their logical indices.
template <typename A, typename B, typename Add>
void convReference(const ConvShape& s, Direction direction, int64_t n, A a, B b, Add add) {
  int64_t perIn = s.ic / s.groups, perOut = s.oc / s.groups;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t oc = 0; oc < s.oc; ++oc)
      for (int64_t icg = 0; icg < perIn; ++icg)
        for (int64_t oh = 0; oh < s.oh(); ++oh)
          for (int64_t ow = 0; ow < s.ow(); ++ow)
            for (int64_t kh = 0; kh < s.kh; ++kh)
              for (int64_t kw = 0; kw < s.kw; ++kw) {
                int64_t ic = oc / perOut * perIn + icg, ih = oh * s.stride + kh * s.dilation - s.pad, iw = ow * s.stride + kw * s.dilation - s.pad;
                if (ih < 0 || ih >= s.h || iw < 0 || iw >= s.w) continue;
                std::vector<int64_t> x = {i, ic, ih, iw}, w = {oc, icg, kh, kw}, y = {i, oc, oh, ow};
                if (direction == Direction::forward) add(y, a(x) * b(w));
                else if (direction == Direction::data) add(x, a(y) * b(w));
                else add(w, a(x) * b(y));
              }
}

struct ProductShape {
  int64_t m = 1, k = 1, n = 1;
  bool transposeA = false, transposeB = false;
  char batch = 'm';  // which of m, k, n carries the batch; '-': none
  double flops() const { return 2.0 * m * k * n; }
};

inline OpCase productCase(const ProductShape& s) {
  OpTensor a{{s.m, s.k}, s.batch == 'm' ? 0 : s.batch == 'k' ? 1 : -1}, b{{s.k, s.n}, s.batch == 'k' ? 0 : s.batch == 'n' ? 1 : -1};
  auto transpose = [](OpTensor& t) {
    std::swap(t.dims[0], t.dims[1]);
    if (t.batch >= 0) t.batch = 1 - t.batch;
  };
  if (s.transposeA) transpose(a);
  if (s.transposeB) transpose(b);
  std::string attributes = std::string("transpose_a = ") + (s.transposeA ? "true" : "false") + ", transpose_b = " + (s.transposeB ? "true" : "false");
  return opCase("matmul", attributes, {a, b}, {{s.m, s.n}, s.batch == 'm' ? 0 : s.batch == 'n' ? 1 : -1});
}

}  // namespace mxc
