// Cases of dense, matmul and convolution.
#include "tests/compiler/ops/op_case.h"

namespace mxc::ops_test {
namespace {

OpCase dense(std::string what, int64_t inputs, int64_t units, bool bias) {
  OpCase c{"dense/" + what, "mx.dense", "{units = " + std::to_string(units) + " : i64}", {real({kN, inputs}), real({units, inputs})},
           [](const Arrays& in) {
             return Arrays{tabulate({in[0].dims[0], in[1].dims[0]}, [&](const Place& p) {
               double sum = in.size() > 2 ? in[2]({p[1]}) : 0;
               for (int64_t k = 0; k < in[0].dims[1]; ++k) sum += in[0]({p[0], k}) * in[1]({p[1], k});
               return sum;
             })};
           }, {0, 1}};
  if (bias) {
    c.inputs.push_back(real({units}));
    c.differentiable.push_back(2);
  }
  return c;
}

OpCase matmul(std::string what, Dims a, Dims b, bool ta, bool tb) {
  auto text = [](bool value) { return value ? "true" : "false"; };
  std::string attributes = std::string("{transpose_a = ") + text(ta) + ", transpose_b = " + text(tb) + "}";
  return {"matmul/" + what, "mx.matmul", attributes, {real(a), real(b)}, [ta, tb](const Arrays& in) {
            const Array &x = in[0], &y = in[1];
            size_t rx = x.dims.size(), ry = y.dims.size();
            const Array& longer = rx >= ry ? x : y;
            Dims dims(longer.dims.begin(), longer.dims.end() - 2);
            dims.push_back(x.dims[ta ? rx - 1 : rx - 2]);
            dims.push_back(y.dims[tb ? ry - 2 : ry - 1]);
            auto read = [&](const Array& m, const Place& p, int64_t row, int64_t column, bool transposed) {
              Place q(m.dims.size());
              for (size_t i = 0; i + 2 < q.size(); ++i) q[i] = m.dims[i] == 1 ? 0 : p[p.size() - q.size() + i];
              q[q.size() - 2] = transposed ? column : row;
              q[q.size() - 1] = transposed ? row : column;
              return m(q);
            };
            int64_t inner = x.dims[ta ? rx - 2 : rx - 1];
            return Arrays{tabulate(dims, [&](const Place& p) {
              double sum = 0;
              for (int64_t k = 0; k < inner; ++k)
                sum += read(x, p, p[p.size() - 2], k, ta) * read(y, p, k, p[p.size() - 1], tb);
              return sum;
            })};
          }, {0, 1}};
}

struct Conv {
  int64_t channels, height, width, filters, kh, kw;
  int64_t sh = 1, sw = 1, ph = 0, pw = 0, dh = 1, dw = 1, groups = 1;
  bool bias = false;
};

std::string pair(int64_t a, int64_t b) { return "array<i64: " + std::to_string(a) + ", " + std::to_string(b) + ">"; }

OpCase conv(std::string what, Conv c) {
  std::string attributes = "{filters = " + std::to_string(c.filters) + " : i64, kernel = " + pair(c.kh, c.kw) + ", stride = " + pair(c.sh, c.sw) +
                           ", pad = " + pair(c.ph, c.pw) + ", dilation = " + pair(c.dh, c.dw) + ", groups = " + std::to_string(c.groups) + " : i64}";
  OpCase result{"conv2d/" + what, "mx.conv2d", attributes,
                {real({kN, c.channels, c.height, c.width}), real({c.filters, c.channels / c.groups, c.kh, c.kw})}, [c](const Arrays& in) {
                  const Array &x = in[0], &w = in[1];
                  int64_t oh = (c.height + 2 * c.ph - c.dh * (c.kh - 1) - 1) / c.sh + 1, ow = (c.width + 2 * c.pw - c.dw * (c.kw - 1) - 1) / c.sw + 1;
                  int64_t perIn = c.channels / c.groups, perOut = c.filters / c.groups;
                  return Arrays{tabulate({x.dims[0], c.filters, oh, ow}, [&](const Place& p) {
                    double sum = in.size() > 2 ? in[2]({p[1]}) : 0;
                    for (int64_t i = 0; i < perIn; ++i)
                      for (int64_t r = 0; r < c.kh; ++r)
                        for (int64_t s = 0; s < c.kw; ++s) {
                          int64_t h = p[2] * c.sh + r * c.dh - c.ph, q = p[3] * c.sw + s * c.dw - c.pw;
                          if (h < 0 || h >= c.height || q < 0 || q >= c.width) continue;
                          sum += x({p[0], p[1] / perOut * perIn + i, h, q}) * w({p[1], i, r, s});
                        }
                    return sum;
                  })};
                }, {0, 1}};
  if (c.bias) {
    result.inputs.push_back(real({c.filters}));
    result.differentiable.push_back(2);
  }
  return result;
}

// channels, height and width are those of the input, which gives its elements to the output through the kernel.
OpCase convTranspose(std::string what, Conv c, int64_t eh = 0, int64_t ew = 0) {
  std::string attributes = "{filters = " + std::to_string(c.filters) + " : i64, kernel = " + pair(c.kh, c.kw) + ", stride = " + pair(c.sh, c.sw) +
                           ", pad = " + pair(c.ph, c.pw) + ", dilation = " + pair(c.dh, c.dw) + ", extra = " + pair(eh, ew) +
                           ", groups = " + std::to_string(c.groups) + " : i64}";
  OpCase result{"conv2d_transpose/" + what, "mx.conv2d_transpose", attributes,
                {real({kN, c.channels, c.height, c.width}), real({c.channels, c.filters / c.groups, c.kh, c.kw})}, [=](const Arrays& in) {
                  const Array &x = in[0], &w = in[1];
                  int64_t oh = (c.height - 1) * c.sh - 2 * c.ph + c.dh * (c.kh - 1) + 1 + eh, ow = (c.width - 1) * c.sw - 2 * c.pw + c.dw * (c.kw - 1) + 1 + ew;
                  int64_t perIn = c.channels / c.groups, perOut = c.filters / c.groups;
                  Array y = tabulate({x.dims[0], c.filters, oh, ow}, [&](const Place& p) { return in.size() > 2 ? in[2]({p[1]}) : 0; });
                  for (int64_t i = 0; i < x.size(); ++i)
                    for (int64_t j = 0; j < perOut * c.kh * c.kw; ++j) {
                      Place p = x.place(i);
                      int64_t o = j / (c.kh * c.kw), r = j / c.kw % c.kh, s = j % c.kw;
                      int64_t h = p[2] * c.sh + r * c.dh - c.ph, q = p[3] * c.sw + s * c.dw - c.pw;
                      if (h >= 0 && h < oh && q >= 0 && q < ow) y({p[0], p[1] / perIn * perOut + o, h, q}) += x.data[i] * w({p[1], o, r, s});
                    }
                  return Arrays{y};
                }, {0, 1}};
  if (c.bias) {
    result.inputs.push_back(real({c.filters}));
    result.differentiable.push_back(2);
  }
  return result;
}

}  // namespace

std::vector<OpCase> linearCases() {
  return {
      convTranspose("plain", {.channels = 2, .height = 3, .width = 4, .filters = 3, .kh = 3, .kw = 2, .bias = true}),
      convTranspose("strided", {.channels = 3, .height = 3, .width = 2, .filters = 2, .kh = 4, .kw = 4, .sh = 2, .sw = 2, .ph = 1, .pw = 1, .bias = true}),
      convTranspose("extra", {.channels = 1, .height = 2, .width = 3, .filters = 2, .kh = 3, .kw = 3, .sh = 2, .sw = 3, .ph = 1, .pw = 0}, 1, 2),
      convTranspose("groups", {.channels = 4, .height = 2, .width = 2, .filters = 6, .kh = 3, .kw = 3, .dh = 2, .dw = 1, .groups = 2}),
      convTranspose("many_channels", {.channels = 18, .height = 2, .width = 3, .filters = 17, .kh = 2, .kw = 2, .sh = 2, .sw = 2, .bias = true}),
      convTranspose("one", {.channels = 1, .height = 1, .width = 1, .filters = 1, .kh = 1, .kw = 1}),
      dense("bias", 7, 5, true),
      dense("one", 1, 1, false),
      dense("odd", 33, 17, true),
      matmul("plain", {kN, 7}, {7, 5}, false, false),
      matmul("transpose_a", {7, 3}, {7, 5}, true, false),
      matmul("transpose_b", {kN, 7}, {5, 7}, false, true),
      matmul("transpose_both", {7, 3}, {5, 7}, true, true),
      matmul("over_the_batch", {kN, 3}, {kN, 5}, true, false),
      matmul("batched", {kN, 3, 4}, {kN, 4, 5}, false, false),
      matmul("broadcast", {kN, 3, 4}, {1, 4, 5}, false, false),
      matmul("odd", {17, 33}, {33, 19}, false, false),
      conv("plain", {.channels = 3, .height = 5, .width = 6, .filters = 4, .kh = 3, .kw = 3, .bias = true}),
      conv("padded", {.channels = 2, .height = 5, .width = 5, .filters = 3, .kh = 3, .kw = 3, .ph = 1, .pw = 1}),
      conv("strided", {.channels = 2, .height = 7, .width = 8, .filters = 3, .kh = 3, .kw = 3, .sh = 2, .sw = 2, .ph = 1, .pw = 1}),
      conv("stride_over_kernel", {.channels = 1, .height = 7, .width = 7, .filters = 2, .kh = 1, .kw = 2, .sh = 3, .sw = 3}),
      conv("dilated", {.channels = 2, .height = 7, .width = 9, .filters = 2, .kh = 3, .kw = 3, .ph = 1, .pw = 2, .dh = 2, .dw = 2}),
      conv("strided_dilated", {.channels = 1, .height = 9, .width = 9, .filters = 2, .kh = 3, .kw = 2, .sh = 2, .sw = 3, .ph = 2, .pw = 0, .dh = 2, .dw = 3}),
      conv("groups", {.channels = 4, .height = 4, .width = 4, .filters = 6, .kh = 3, .kw = 3, .ph = 1, .pw = 1, .groups = 2, .bias = true}),
      conv("depthwise", {.channels = 5, .height = 4, .width = 4, .filters = 5, .kh = 3, .kw = 3, .ph = 1, .pw = 1, .groups = 5}),
      conv("pointwise", {.channels = 17, .height = 3, .width = 3, .filters = 19, .kh = 1, .kw = 1}),
      conv("rectangular", {.channels = 2, .height = 6, .width = 3, .filters = 2, .kh = 5, .kw = 1, .ph = 2}),
      conv("many_channels", {.channels = 18, .height = 3, .width = 4, .filters = 20, .kh = 3, .kw = 3, .ph = 1, .pw = 1, .bias = true}),
      conv("one", {.channels = 1, .height = 1, .width = 1, .filters = 1, .kh = 1, .kw = 1}),
  };
}

}  // namespace mxc::ops_test
