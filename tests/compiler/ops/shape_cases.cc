// Cases of the shape and reduce families.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/compiler/ops/op_case.h"

namespace mxc::ops_test {
namespace {

std::string list(const Dims& values) {
  std::string text = "array<i64";
  for (size_t i = 0; i < values.size(); ++i) text += (i ? ", " : ": ") + std::to_string(values[i]);
  return text + ">";
}

// The same elements under the dims that `to` makes of the input's.
OpCase view(std::string name, std::string op, std::string attributes, Dims dims, std::function<Dims(const Dims&)> to) {
  return {std::move(name), std::move(op), std::move(attributes), {real(std::move(dims))}, [to](const Arrays& in) {
            Array a(to(in[0].dims));
            a.data = in[0].data;
            return Arrays{a};
          }, {0}};
}

OpCase transpose(std::string what, Dims dims, Dims axes) {
  Dims order = axes;
  if (order.empty())
    for (size_t i = dims.size(); i-- > 0;) order.push_back(static_cast<int64_t>(i));
  return {"transpose/" + what, "mx.transpose", "{axes = " + list(axes) + "}", {real(dims)}, [order](const Arrays& in) {
            Dims out;
            for (int64_t axis : order) out.push_back(in[0].dims[axis]);
            return Arrays{tabulate(out, [&](const Place& p) {
              Place q(p.size());
              for (size_t i = 0; i < p.size(); ++i) q[order[i]] = p[i];
              return in[0](q);
            })};
          }, {0}};
}

OpCase concat(std::string what, int64_t axis, std::vector<Dims> inputs) {
  OpCase c{"concat/" + what, "mx.concat", "{axis = " + std::to_string(axis) + " : i64}", {}, [axis](const Arrays& in) {
             size_t at = axis < 0 ? axis + in[0].dims.size() : axis;
             Dims dims = in[0].dims;
             for (size_t i = 1; i < in.size(); ++i) dims[at] += in[i].dims[at];
             return Arrays{tabulate(dims, [&](Place p) {
               size_t i = 0;
               for (; p[at] >= in[i].dims[at]; ++i) p[at] -= in[i].dims[at];
               return in[i](p);
             })};
           }};
  for (size_t i = 0; i < inputs.size(); ++i) {
    c.inputs.push_back(real(inputs[i]));
    c.differentiable.push_back(i);
  }
  return c;
}

// begin, end, step along `axis`, none negative.
OpCase slice(std::string what, Dims dims, std::string attributes, size_t axis, int64_t begin, int64_t end, int64_t step) {
  return {"slice/" + what, "mx.slice", std::move(attributes), {real(dims)}, [=](const Arrays& in) {
            Dims out = in[0].dims;
            out[axis] = 0;
            for (int64_t i = begin; i < end; i += step) ++out[axis];
            return Arrays{tabulate(out, [&](Place p) {
              p[axis] = begin + p[axis] * step;
              return in[0](p);
            })};
          }, {0}};
}

OpCase pad(std::string what, Dims dims, Dims before, Dims after, double value) {
  return {"pad/" + what, "mx.pad", "{before = " + list(before) + ", after = " + list(after) + ", value = " + std::to_string(value) + " : f64}",
          {real(dims)}, [=](const Arrays& in) {
            Dims out = in[0].dims;
            for (size_t i = 0; i < out.size(); ++i) out[i] += before[i] + after[i];
            return Arrays{tabulate(out, [&](Place p) {
              for (size_t i = 0; i < p.size(); ++i) {
                p[i] -= before[i];
                if (p[i] < 0 || p[i] >= in[0].dims[i]) return value;
              }
              return in[0](p);
            })};
          }, {0}};
}

OpCase split(std::string what, Dims dims, int64_t axis, int64_t parts) {
  OpCase c{"split/" + what, "mx.split", "{axis = " + std::to_string(axis) + " : i64, parts = " + std::to_string(parts) + " : i64}", {real(dims)},
           [=](const Arrays& in) {
             Dims out = in[0].dims;
             size_t at = axis < 0 ? axis + out.size() : axis;
             out[at] /= parts;
             Arrays pieces;
             for (int64_t i = 0; i < parts; ++i)
               pieces.push_back(tabulate(out, [&](Place p) {
                 p[at] += i * out[at];
                 return in[0](p);
               }));
             return pieces;
           }, {0}};
  c.results = static_cast<unsigned>(parts);
  return c;
}

OpCase stack(std::string what, int64_t axis, Dims dims, int64_t count) {
  OpCase c{"stack/" + what, "mx.stack", "{axis = " + std::to_string(axis) + " : i64}", {}, [axis](const Arrays& in) {
             Dims out = in[0].dims;
             size_t at = axis < 0 ? axis + out.size() + 1 : axis;
             out.insert(out.begin() + at, in.size());
             return Arrays{tabulate(out, [&](Place p) {
               int64_t which = p[at];
               p.erase(p.begin() + at);
               return in[which](p);
             })};
           }};
  for (int64_t i = 0; i < count; ++i) {
    c.inputs.push_back(real(dims));
    c.differentiable.push_back(i);
  }
  return c;
}

OpCase tile(std::string what, Dims dims, Dims repeats) {
  return {"tile/" + what, "mx.tile", "{repeats = " + list(repeats) + "}", {real(dims)}, [repeats](const Arrays& in) {
            Dims out = in[0].dims;
            for (size_t i = 0; i < out.size(); ++i) out[i] *= repeats[i];
            return Arrays{tabulate(out, [&](Place p) {
              for (size_t i = 0; i < p.size(); ++i) p[i] %= in[0].dims[i];
              return in[0](p);
            })};
          }, {0}};
}

enum class Reduction { sum, mean, max, min, prod, norm };

OpCase reduce(std::string what, Reduction kind, Dims dims, Dims axes, bool keep) {
  const char* names[] = {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod", "norm"};
  std::string name = names[static_cast<int>(kind)];
  Dims reduced;
  for (int64_t axis : axes) reduced.push_back(axis < 0 ? axis + static_cast<int64_t>(dims.size()) : axis);
  if (axes.empty())
    for (size_t i = 0; i < dims.size(); ++i) reduced.push_back(static_cast<int64_t>(i));
  auto isReduced = [reduced](int64_t axis) { return std::find(reduced.begin(), reduced.end(), axis) != reduced.end(); };
  return {name + "/" + what, "mx." + name, "{axes = " + list(axes) + ", keep_dims = " + (keep ? "true" : "false") + "}", {real(dims)},
          [=](const Arrays& in) {
            Dims out;
            for (size_t i = 0; i < in[0].dims.size(); ++i)
              if (!isReduced(i)) out.push_back(in[0].dims[i]);
              else if (keep) out.push_back(1);
            double start = kind == Reduction::max ? -std::numeric_limits<double>::infinity()
                         : kind == Reduction::min ? std::numeric_limits<double>::infinity() : kind == Reduction::prod ? 1 : 0;
            Array a = tabulate(out, [&](const Place&) { return start; });
            for (int64_t i = 0; i < in[0].size(); ++i) {
              Place p = in[0].place(i), q;
              for (size_t axis = 0; axis < p.size(); ++axis)
                if (!isReduced(axis)) q.push_back(p[axis]);
                else if (keep) q.push_back(0);
              double x = in[0].data[i], &y = a(q);
              y = kind == Reduction::max ? std::max(x, y) : kind == Reduction::min ? std::min(x, y) : kind == Reduction::prod ? x * y
                : kind == Reduction::norm ? y + x * x : x + y;
            }
            if (kind == Reduction::norm)
              for (double& y : a.data) y = std::sqrt(y);
            if (kind == Reduction::mean)
              for (double& y : a.data) y *= static_cast<double>(a.size()) / static_cast<double>(in[0].size());
            return Arrays{a};
          }, {0}};
}

}  // namespace

std::vector<OpCase> shapeCases() {
  std::vector<OpCase> cases = {
      view("reshape/split", "mx.reshape", "{shape = " + list({0, 2, -1}) + "}", {kN, 6}, [](const Dims& d) { return Dims{d[0], 2, 3}; }),
      view("flatten/images", "mx.flatten", "{}", {kN, 2, 3, 5}, [](const Dims& d) { return Dims{d[0], 30}; }),
      view("squeeze/all", "mx.squeeze", "{}", {kN, 1, 3, 1}, [](const Dims& d) { return Dims{d[0], 3}; }),
      view("squeeze/one", "mx.squeeze", "{axes = " + list({-1}) + "}", {kN, 1, 3, 1}, [](const Dims& d) { return Dims{d[0], 1, 3}; }),
      view("expand_dims/first", "mx.expand_dims", "{axis = 0 : i64}", {kN, 3}, [](const Dims& d) { return Dims{1, d[0], 3}; }),
      view("expand_dims/last", "mx.expand_dims", "{axis = -1 : i64}", {kN, 3}, [](const Dims& d) { return Dims{d[0], 3, 1}; }),
      transpose("matrix", {kN, 5}, {}),
      transpose("odd", {17, 19}, {1, 0}),
      transpose("heads", {kN, 3, 2, 5}, {0, 2, 1, 3}),
      transpose("rotated", {kN, 3, 5}, {1, 2, 0}),
      concat("features", 1, {{kN, 3}, {kN, 1}, {kN, 5}}),
      concat("channels", 1, {{kN, 2, 3, 3}, {kN, 3, 3, 3}}),
      concat("last", -1, {{kN, 2, 3}, {kN, 2, 1}}),
      concat("vectors", 0, {{3}, {4}}),
      slice("features", {kN, 7}, "{begin = array<i64: 2>, end = array<i64: 5>, axes = array<i64: 1>}", 1, 2, 5, 1),
      slice("negative", {kN, 7}, "{begin = array<i64: -3>, end = array<i64: -1>, axes = array<i64: -1>}", 1, 4, 6, 1),
      slice("to_the_end", {5, 3}, "{begin = array<i64: 1>}", 0, 1, 5, 1),
      slice("stepped", {kN, 11, 2}, "{begin = array<i64: 1>, end = array<i64: 100>, step = array<i64: 3>, axes = array<i64: 1>}", 1, 1, 11, 3),
      slice("stepped_last", {kN, 10}, "{begin = array<i64: 4>, end = array<i64: 9>, step = array<i64: 2>, axes = array<i64: 1>}", 1, 4, 9, 2),
      pad("image", {kN, 2, 3, 3}, {0, 0, 1, 2}, {0, 0, 2, 0}, 0.5),
      pad("vector", {5}, {3}, {0}, 0),
  };
  for (Reduction kind : {Reduction::sum, Reduction::mean, Reduction::max, Reduction::min, Reduction::prod, Reduction::norm}) {
    cases.push_back(reduce("last", kind, {kN, 5}, {1}, false));
    if (kind != Reduction::prod) {
      cases.push_back(reduce("batch", kind, {kN, 5}, {0}, false));
      cases.push_back(reduce("all", kind, {kN, 3, 5}, {}, false));
      cases.push_back(reduce("kept", kind, {kN, 3, 5}, {0, -1}, true));
      cases.push_back(reduce("channels", kind, {kN, 3, 2, 5}, {0, 2, 3}, false));
    }
    cases.push_back(reduce("middle", kind, {kN, 3, 17}, {1}, false));
    cases.push_back(reduce("long", kind, {2, 67}, {1}, true));
    cases.push_back(reduce("one", kind, {1, 1}, {1}, false));
  }
  // Zeros in products; two equal elements, whose central difference is half of dy for each.
  for (bool keep : {false, true}) {
    OpCase zeros = reduce(keep ? "zeros_kept" : "zeros", Reduction::prod, {kN, 2, 3}, {1, 2}, keep);
    zeros.inputs = {grained({kN, 2, 3})};
    cases.push_back(zeros);
  }
  for (Reduction kind : {Reduction::max, Reduction::min}) {
    OpCase ties = reduce("ties", kind, {kN, 2}, {1}, false);
    ties.inputs[0].low = ties.inputs[0].high = 1.5;
    ties.secondOrder = false;  // it jumps at a tie
    cases.push_back(ties);
  }
  OpCase zero = reduce("zero", Reduction::norm, {kN, 3}, {1}, false);
  zero.inputs[0].low = zero.inputs[0].high = 0;
  zero.secondOrder = false;
  cases.push_back(zero);
  for (int64_t parts : {1, 2, 3}) cases.push_back(split("parts_" + std::to_string(parts), {kN, 6, 2}, 1, parts));
  cases.push_back(split("last", {kN, 3, 4}, -1, 2));
  cases.push_back(split("vector", {9}, 0, 3));
  cases.push_back(stack("features", 1, {kN, 5}, 3));
  cases.push_back(stack("first", 0, {kN, 2, 3}, 2));
  cases.push_back(stack("last", -1, {kN}, 2));
  cases.push_back(stack("one", 1, {kN, 1}, 1));
  cases.push_back(tile("features", {kN, 3}, {1, 2}));
  cases.push_back(tile("all", {2, 3}, {3, 2}));
  cases.push_back(tile("middle", {kN, 2, 1, 5}, {1, 3, 4, 1}));
  cases.push_back(tile("nothing", {kN, 3}, {1, 1}));
  return cases;
}

}  // namespace mxc::ops_test
