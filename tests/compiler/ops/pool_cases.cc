// Cases of pooling.
#include <limits>

#include "tests/compiler/ops/op_case.h"

namespace mxc::ops_test {
namespace {

struct Pool {
  int64_t channels, height, width, kh, kw;
  int64_t sh = 1, sw = 1, ph = 0, pw = 0;
  bool ceil = false, countPad = true;
};

// The number of windows: the last one starts inside the input or its padding before.
int64_t windows(int64_t size, int64_t kernel, int64_t stride, int64_t pad, bool ceil) {
  int64_t count = 0;
  for (int64_t start = -pad;; start += stride) {
    bool fits = start + kernel <= size + pad;
    if (!fits && !(ceil && start < size)) return count;
    ++count;
    if (!fits) return count;
  }
}

// visit(h, w, inside the input) for the places of a window, inside the padded input.
template <typename F>
void forWindow(const Pool& c, int64_t oh, int64_t ow, F visit) {
  for (int64_t r = 0; r < c.kh; ++r)
    for (int64_t s = 0; s < c.kw; ++s) {
      int64_t h = oh * c.sh + r - c.ph, w = ow * c.sw + s - c.pw;
      if (h >= c.height + c.ph || w >= c.width + c.pw) continue;
      visit(h, w, h >= 0 && h < c.height && w >= 0 && w < c.width);
    }
}

std::string pair(int64_t a, int64_t b) { return "array<i64: " + std::to_string(a) + ", " + std::to_string(b) + ">"; }

std::string attributes(const Pool& c) {
  return "kernel = " + pair(c.kh, c.kw) + ", stride = " + pair(c.sh, c.sw) + ", pad = " + pair(c.ph, c.pw) + ", ceil_mode = " + (c.ceil ? "true" : "false");
}

OpCase pool(std::string what, bool max, Pool c) {
  std::string text = "{" + attributes(c) + (max ? "" : std::string(", count_pad = ") + (c.countPad ? "true" : "false")) + "}";
  return {(max ? "max_pool/" : "avg_pool/") + what, max ? "mx.max_pool" : "mx.avg_pool", text, {real({kN, c.channels, c.height, c.width})},
          [c, max](const Arrays& in) {
            Dims dims = {in[0].dims[0], c.channels, windows(c.height, c.kh, c.sh, c.ph, c.ceil), windows(c.width, c.kw, c.sw, c.pw, c.ceil)};
            return Arrays{tabulate(dims, [&](const Place& p) {
              double best = -std::numeric_limits<double>::infinity(), sum = 0;
              int64_t count = 0;
              forWindow(c, p[2], p[3], [&](int64_t h, int64_t w, bool inside) {
                count += inside || c.countPad;
                if (!inside) return;
                best = std::max(best, in[0]({p[0], p[1], h, w}));
                sum += in[0]({p[0], p[1], h, w});
              });
              return max ? best : sum / static_cast<double>(count);
            })};
          }, {0}, max ? 2u : 1u};
}

OpCase global(std::string what, bool max, int64_t channels, int64_t height, int64_t width) {
  return {(max ? "global_max_pool/" : "global_avg_pool/") + what, max ? "mx.global_max_pool" : "mx.global_avg_pool", "{}",
          {real({kN, channels, height, width})}, [max](const Arrays& in) {
            const Dims& d = in[0].dims;
            return Arrays{tabulate({d[0], d[1], 1, 1}, [&](const Place& p) {
              double best = -std::numeric_limits<double>::infinity(), sum = 0;
              for (int64_t h = 0; h < d[2]; ++h)
                for (int64_t w = 0; w < d[3]; ++w) {
                  best = std::max(best, in[0]({p[0], p[1], h, w}));
                  sum += in[0]({p[0], p[1], h, w});
                }
              return max ? best : sum / static_cast<double>(d[2] * d[3]);
            })};
          }, {0}};
}

}  // namespace

std::vector<OpCase> poolCases() {
  std::vector<OpCase> cases;
  for (bool max : {true, false}) {
    cases.push_back(pool("halves", max, {.channels = 3, .height = 4, .width = 6, .kh = 2, .kw = 2, .sh = 2, .sw = 2}));
    cases.push_back(pool("overlapping", max, {.channels = 17, .height = 5, .width = 5, .kh = 3, .kw = 3, .sh = 2, .sw = 2, .ph = 1, .pw = 1}));
    cases.push_back(pool("ceil", max, {.channels = 2, .height = 6, .width = 7, .kh = 3, .kw = 2, .sh = 2, .sw = 2, .ceil = true}));
    cases.push_back(pool("ceil_padded", max, {.channels = 2, .height = 6, .width = 6, .kh = 3, .kw = 3, .sh = 2, .sw = 2, .ph = 1, .pw = 1, .ceil = true}));
    cases.push_back(pool("gaps", max, {.channels = 2, .height = 7, .width = 5, .kh = 1, .kw = 2, .sh = 3, .sw = 3}));
    cases.push_back(pool("one", max, {.channels = 1, .height = 1, .width = 1, .kh = 1, .kw = 1}));
    cases.push_back(global("odd", max, 5, 3, 7));
    cases.push_back(global("many_channels", max, 33, 2, 2));
    cases.push_back(global("one", max, 1, 1, 1));
  }
  cases.push_back(pool("without_pad", false, {.channels = 2, .height = 5, .width = 5, .kh = 3, .kw = 3, .sh = 2, .sw = 2, .ph = 1, .pw = 1, .countPad = false}));
  return cases;
}

}  // namespace mxc::ops_test
