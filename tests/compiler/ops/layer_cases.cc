// Cases of the norm and softmax families.
#include <cmath>
#include <tuple>

#include "ir/ops/norm.h"
#include "tests/compiler/ops/op_case.h"

namespace mxc::ops_test {
namespace {

// Mean and biased variance of what `visit` hands out.
template <typename F>
std::pair<double, double> moments(F visit) {
  double sum = 0, squares = 0, count = 0;
  visit([&](double x) { sum += x, ++count; });
  double mean = sum / count;
  visit([&](double x) { squares += (x - mean) * (x - mean); });
  return {mean, squares / count};
}

// Visits the elements of channel `c` (axis 1).
auto channelOf(const Array& x, int64_t c) {
  return [&x, c](auto visit) {
    for (int64_t i = 0; i < x.size(); ++i)
      if (x.place(i)[1] == c) visit(x.data[i]);
  };
}

constexpr double kEpsilon = 1e-3, kMomentum = 0.8;

// Results: y, new running mean, new running variance.
OpCase batchNorm(std::string what, Dims dims, bool training) {
  Dims c = {dims[1]};
  OpCase result{"batch_norm/" + what, "", "", {real(dims), real(c), real(c), real(c), positive(c)}, [training](const Arrays& in) {
                  const Array &x = in[0], &gamma = in[1], &beta = in[2];
                  Array mean = in[3], variance = in[4], newMean = in[3], newVariance = in[4];
                  for (int64_t i = 0; i < mean.size() && training; ++i) {
                    std::tie(mean.data[i], variance.data[i]) = moments(channelOf(x, i));
                    newMean.data[i] = kMomentum * in[3].data[i] + (1 - kMomentum) * mean.data[i];
                    newVariance.data[i] = kMomentum * in[4].data[i] + (1 - kMomentum) * variance.data[i];
                  }
                  Array y = tabulate(x.dims, [&](const Place& p) {
                    int64_t i = p[1];
                    return (x(p) - mean.data[i]) / std::sqrt(variance.data[i] + kEpsilon) * gamma.data[i] + beta.data[i];
                  });
                  return training ? Arrays{y, newMean, newVariance} : Arrays{y};
                }, {0, 1, 2}};
  result.build = [training](mlir::OpBuilder& b, mlir::Location loc, mlir::ValueRange in) {
    auto op = makeAs<mx::BatchNormOp>(b, loc, in, {b.getNamedAttr("epsilon", b.getF64FloatAttr(kEpsilon)),
                                                   b.getNamedAttr("momentum", b.getF64FloatAttr(kMomentum))});
    ModeBuilder mode(b, loc, training, {}, {});
    llvm::SmallVector<mlir::Value> values = *op.buildForMode(mode);
    op.erase();
    for (auto [operand, value] : mode.newStates) values.push_back(value);
    return values;
  };
  result.tolerance = 10;
  return result;
}

OpCase layerNorm(std::string what, Dims dims) {
  Dims last = {dims.back()};
  OpCase c{"layer_norm/" + what, "mx.layer_norm", "{epsilon = 1.0e-3 : f64}", {real(dims), real(last), real(last)}, [](const Arrays& in) {
             const Array& x = in[0];
             return Arrays{tabulate(x.dims, [&](const Place& p) {
               auto [mean, variance] = moments([&](auto visit) {
                 Place q = p;
                 for (q.back() = 0; q.back() < x.dims.back(); ++q.back()) visit(x(q));
               });
               return (x(p) - mean) / std::sqrt(variance + kEpsilon) * in[1]({p.back()}) + in[2]({p.back()});
             })};
           }, {0, 1, 2}, 3};
  c.tolerance = 10;
  return c;
}

OpCase softmax(std::string what, bool logarithm, Dims dims, int64_t axis) {
  std::string name = logarithm ? "log_softmax" : "softmax";
  return {name + "/" + what, "mx." + name, "{axis = " + std::to_string(axis) + " : i64}", {real(dims, -6, 6)}, [=](const Arrays& in) {
            size_t at = axis < 0 ? axis + in[0].dims.size() : axis;
            return Arrays{tabulate(in[0].dims, [&](const Place& p) {
              double sum = 0;
              Place q = p;
              for (q[at] = 0; q[at] < in[0].dims[at]; ++q[at]) sum += std::exp(in[0](q));
              return logarithm ? in[0](p) - std::log(sum) : std::exp(in[0](p)) / sum;
            })};
          }, {0}};
}

// groups = 0: instance_norm.
OpCase groupNorm(std::string what, Dims dims, int64_t groups) {
  Dims channels = {dims[1]};
  std::string op = groups == 0 ? "instance_norm" : "group_norm", attributes = "epsilon = 1.0e-3 : f64";
  if (groups > 0) attributes += ", groups = " + std::to_string(groups) + " : i64";
  OpCase c{op + "/" + what, "mx." + op, "{" + attributes + "}", {real(dims), real(channels), real(channels)}, [groups](const Arrays& in) {
             const Array& x = in[0];
             int64_t each = groups == 0 ? 1 : x.dims[1] / groups;
             return Arrays{tabulate(x.dims, [&](const Place& p) {
               auto [mean, variance] = moments([&](auto visit) {
                 for (int64_t i = 0; i < x.size(); ++i) {
                   Place q = x.place(i);
                   if (q[0] == p[0] && q[1] / each == p[1] / each) visit(x.data[i]);
                 }
               });
               return (x(p) - mean) / std::sqrt(variance + kEpsilon) * in[1]({p[1]}) + in[2]({p[1]});
             })};
           }, {0, 1, 2}};
  c.tolerance = 20;
  return c;
}

}  // namespace

std::vector<OpCase> layerCases() {
  std::vector<OpCase> cases;
  for (bool training : {true, false}) {
    std::string mode = training ? "training_" : "evaluation_";
    cases.push_back(batchNorm(mode + "features", {kN, 5}, training));
    cases.push_back(batchNorm(mode + "images", {kN, 3, 2, 5}, training));
    cases.push_back(batchNorm(mode + "many_channels", {kN, 18, 3, 3}, training));
  }
  cases.push_back(layerNorm("rows", {kN, 7}));
  cases.push_back(layerNorm("sequences", {kN, 3, 33}));
  for (bool logarithm : {false, true}) {
    cases.push_back(softmax("rows", logarithm, {kN, 10}, -1));
    cases.push_back(softmax("long", logarithm, {kN, 2, 67}, 2));
    cases.push_back(softmax("middle", logarithm, {kN, 3, 5}, 1));
    cases.push_back(softmax("one", logarithm, {kN, 1}, 1));
    cases.push_back(softmax("vector", logarithm, {5}, 0));
  }
  cases.push_back(groupNorm("images", {kN, 6, 3, 5}, 2));
  cases.push_back(groupNorm("features", {kN, 12}, 3));
  cases.push_back(groupNorm("all_channels", {kN, 18, 2, 2}, 1));
  cases.push_back(groupNorm("images", {kN, 3, 4, 5}, 0));
  cases.push_back(groupNorm("sequences", {kN, 17, 9}, 0));
  return cases;
}

}  // namespace mxc::ops_test
