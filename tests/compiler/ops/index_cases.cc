// Cases of the index and scan families.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/compiler/ops/op_case.h"

namespace mxc::ops_test {
namespace {

OpCase embedding(std::string what, Dims index, int64_t vocabulary, int64_t units, Kind kind) {
  return {"embedding/" + what, "mx.embedding", "{vocabulary = " + std::to_string(vocabulary) + " : i64, units = " + std::to_string(units) + " : i64}",
          {integers(index, vocabulary, kind), real({vocabulary, units})}, [](const Arrays& in) {
            Dims out = in[0].dims;
            out.push_back(in[1].dims[1]);
            return Arrays{tabulate(out, [&](Place p) {
              int64_t unit = p.back();
              p.pop_back();
              return in[1]({static_cast<int64_t>(in[0](p)), unit});
            })};
          }, {1}};
}

OpCase oneHot(std::string what, Dims index, int64_t depth, int64_t bound, Kind kind) {
  return {"one_hot/" + what, "mx.one_hot", "{depth = " + std::to_string(depth) + " : i64, dtype = $T}", {integers(index, bound, kind)},
          [depth](const Arrays& in) {
            Dims out = in[0].dims;
            out.push_back(depth);
            return Arrays{tabulate(out, [&](Place p) {
              double place = static_cast<double>(p.back());
              p.pop_back();
              return in[0](p) == place ? 1.0 : 0.0;
            })};
          }};
}

std::string axisAttribute(int64_t axis) { return "axis = " + std::to_string(axis) + " : i64"; }

int64_t inside(double place, int64_t size) { return std::clamp<int64_t>(static_cast<int64_t>(place), 0, size - 1); }

OpCase take(std::string what, Dims input, Input index, int64_t axis) {
  return {"take/" + what, "mx.take", "{" + axisAttribute(axis) + "}", {real(input), std::move(index)}, [axis](const Arrays& in) {
            const Array &x = in[0], &i = in[1];
            size_t at = axis < 0 ? axis + x.dims.size() : axis, rank = i.dims.size();
            Dims out(x.dims.begin(), x.dims.begin() + at);
            out.insert(out.end(), i.dims.begin(), i.dims.end());
            out.insert(out.end(), x.dims.begin() + at + 1, x.dims.end());
            return Arrays{tabulate(out, [&](const Place& p) {
              Place from(p.begin(), p.begin() + at), which(p.begin() + at, p.begin() + at + rank);
              from.push_back(inside(i(which), x.dims[at]));
              from.append(p.begin() + at + rank, p.end());
              return x(from);
            })};
          }, {0}};
}

OpCase gather(std::string what, Dims input, Input index, int64_t axis) {
  return {"gather/" + what, "mx.gather", "{" + axisAttribute(axis) + "}", {real(input), std::move(index)}, [axis](const Arrays& in) {
            size_t at = axis < 0 ? axis + in[0].dims.size() : axis;
            return Arrays{tabulate(in[1].dims, [&](Place p) {
              p[at] = inside(in[1](p), in[0].dims[at]);
              return in[0](p);
            })};
          }, {0}};
}

// The places of a line along an axis, the largest element first, of equals the first.
std::vector<int64_t> ordered(const Array& x, Place p, size_t at, bool largest) {
  std::vector<int64_t> places(x.dims[at]);
  std::iota(places.begin(), places.end(), 0);
  auto value = [&](int64_t i) {
    p[at] = i;
    return x(p);
  };
  std::sort(places.begin(), places.end(), [&](int64_t a, int64_t b) {
    double x = value(a), y = value(b);
    return x == y ? a < b : largest ? x > y : x < y;
  });
  return places;
}

OpCase argExtreme(std::string what, bool largest, Input input, int64_t axis, bool keep) {
  std::string name = largest ? "argmax" : "argmin";
  return {name + "/" + what, "mx." + name, "{" + axisAttribute(axis) + ", keep_dims = " + (keep ? "true" : "false") + "}", {std::move(input)},
          [=](const Arrays& in) {
            Dims out = in[0].dims;
            size_t at = axis < 0 ? axis + out.size() : axis;
            if (keep) out[at] = 1;
            else out.erase(out.begin() + at);
            return Arrays{tabulate(out, [&](Place p) {
              if (!keep) p.insert(p.begin() + at, 0);
              return static_cast<double>(ordered(in[0], p, at, largest)[0]);
            })};
          }};
}

OpCase topk(std::string what, Input input, int64_t axis, int64_t k, bool places) {
  OpCase c{"topk/" + what, "mx.topk", "{" + axisAttribute(axis) + ", k = " + std::to_string(k) + " : i64}", {std::move(input)}, [=](const Arrays& in) {
             Dims out = in[0].dims;
             size_t at = axis < 0 ? axis + out.size() : axis;
             out[at] = k;
             Array which = tabulate(out, [&](const Place& p) { return static_cast<double>(ordered(in[0], p, at, true)[p[at]]); });
             Array values = tabulate(out, [&](Place p) {
               p[at] = static_cast<int64_t>(which(p));
               return in[0](p);
             });
             return places ? Arrays{values, which} : Arrays{values};
           }};
  c.results = 2;
  if (!places) c.differentiable = {0};
  return c;
}

// s = factor * s + term along the axis, element by element.
Array scanned(const Array& factor, const Array& term, size_t at, bool reverse) {
  Array s(factor.dims);
  const int64_t size = factor.dims[at];
  for (int64_t i = 0; i < s.size(); ++i) {
    Place p = s.place(i);
    if (p[at] != 0) continue;
    double sum = 0;
    for (int64_t j = 0; j < size; ++j) {
      p[at] = reverse ? size - 1 - j : j;
      sum = factor(p) * sum + term(p);
      s(p) = sum;
    }
  }
  return s;
}

std::string flags(int64_t axis, bool reverse) { return axisAttribute(axis) + ", reverse = " + (reverse ? "true" : "false"); }

OpCase linearScan(std::string what, Dims dims, int64_t axis, bool reverse) {
  return {"linear_scan/" + what, "mx.linear_scan", "{" + flags(axis, reverse) + "}", {real(dims), real(dims)}, [=](const Arrays& in) {
            return Arrays{scanned(in[0], in[1], axis < 0 ? axis + in[0].dims.size() : axis, reverse)};
          }, {0, 1}};
}

OpCase running(std::string what, bool product, Input input, int64_t axis, bool reverse, bool exclusive) {
  std::string name = product ? "cumprod" : "cumsum";
  return {name + "/" + what, "mx." + name, "{" + flags(axis, reverse) + ", exclusive = " + (exclusive ? "true" : "false") + "}", {std::move(input)},
          [=](const Arrays& in) {
            const Array& x = in[0];
            size_t at = axis < 0 ? axis + x.dims.size() : axis;
            return Arrays{tabulate(x.dims, [&](const Place& p) {
              double result = product ? 1 : 0;
              Place q = p;
              for (q[at] = 0; q[at] < x.dims[at]; ++q[at]) {
                bool before = reverse ? q[at] > p[at] : q[at] < p[at];
                if (!before && (exclusive || q[at] != p[at])) continue;
                result = product ? result * x(q) : result + x(q);
              }
              return result;
            })};
          }, {0}};
}

}  // namespace

std::vector<OpCase> indexCases() {
  std::vector<OpCase> cases = {
      embedding("rows", {kN}, 7, 5, Kind::i32),
      embedding("sequences", {kN, 3}, 2, 70, Kind::i64),
      embedding("one", {kN}, 1, 1, Kind::i32),
      oneHot("labels", {kN}, 5, 5, Kind::i32),
      oneHot("outside", {kN, 3}, 4, 9, Kind::i64),
      take("rows", {7, 5}, integers({kN}, 7), 0),
      take("features", {kN, 6, 3}, integers({4}, 6, Kind::i64), 1),
      take("last", {kN, 3, 7}, integers({2, 2}, 7), -1),
      take("wide", {3, 130}, integers({kN, 2}, 3), 0),
      take("batch_behind", {3, kN, 2}, integers({5}, 3), 0),
      take("batch_last", {3, 2, kN}, integers({5}, 3, Kind::u8), 0),
      take("samples", {2, 5, 3}, integers({kN}, 5), 1),
      take("outside", {5, 2}, Input{{kN}, Kind::i32, -3, 9}, 0),
      take("one", {1}, integers({kN}, 1), 0),
      gather("features", {kN, 5}, integers({kN, 3}, 5), -1),
      gather("middle", {kN, 3, 4}, integers({kN, 2, 4}, 3, Kind::i64), 1),
      gather("first", {6, 3}, integers({2, 3}, 6), 0),
      gather("outside", {kN, 3}, Input{{kN, 7}, Kind::i32, -2, 6}, 1),
      gather("one", {kN, 1}, integers({kN, 1}, 1), 1),
      topk("last", real({kN, 9}), -1, 3, false),
      topk("middle", real({kN, 5, 2}), 1, 2, false),
      topk("all", real({kN, 3, 21}), -1, 21, false),
      topk("one", real({kN, 1}), 1, 1, false),
      topk("ties", grained({kN, 11}), 1, 7, true),
      topk("ties_first", grained({7, 3}), 0, 4, true),
      linearScan("features", {kN, 5}, 1, false),
      linearScan("reverse", {kN, 5}, -1, true),
      linearScan("middle", {kN, 4, 19}, 1, false),
      linearScan("first", {3, 2, 5}, 0, true),
      linearScan("one", {kN, 1, 3}, 1, false),
  };
  for (bool largest : {false, true}) {
    cases.push_back(argExtreme("last", largest, real({kN, 37}), -1, false));
    cases.push_back(argExtreme("ties", largest, grained({kN, 19}), 1, true));
    cases.push_back(argExtreme("middle", largest, grained({kN, 5, 18}), 1, false));
    cases.push_back(argExtreme("integers", largest, integers({kN, 7}, 4), 1, false));
    cases.push_back(argExtreme("one", largest, real({kN, 1}), 1, false));
  }
  for (bool product : {false, true}) {
    cases.push_back(running("features", product, grained({kN, 6}), 1, false, false));
    cases.push_back(running("reverse", product, grained({kN, 6}), -1, true, false));
    cases.push_back(running("exclusive", product, grained({kN, 3, 5}), 1, false, true));
    cases.push_back(running("both", product, real({4, 17}), 0, true, true));
    cases.push_back(running("one", product, real({kN, 1}), 1, false, false));
    OpCase nothing = running("one_exclusive", product, real({kN, 1}), 1, true, true);
    nothing.differentiable = {};  // a constant
    cases.push_back(nothing);
  }
  return cases;
}

}  // namespace mxc::ops_test
