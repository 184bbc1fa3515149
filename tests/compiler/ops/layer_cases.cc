// Cases of the norm, softmax and loss families.
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
  c.secondOrder = false;
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

OpCase crossEntropy(std::string what, int64_t classes, Kind kind) {
  return {"softmax_cross_entropy/" + what, "mx.softmax_cross_entropy", "{}", {real({kN, classes}, -6, 6), integers({kN}, classes, kind)},
          [classes](const Arrays& in) {
            return Arrays{tabulate({in[0].dims[0]}, [&](const Place& p) {
              double sum = 0;
              for (int64_t c = 0; c < classes; ++c) sum += std::exp(in[0]({p[0], c}));
              return std::log(sum) - in[0]({p[0], static_cast<int64_t>(in[1](p))});
            })};
          }, {0}};
}

// 1 where fewer than k classes come before the label.
OpCase accuracy(std::string what, std::string op, std::string attributes, int64_t classes, int64_t k) {
  return {op + "/" + what, "mx." + op, std::move(attributes), {real({kN, classes}), integers({kN}, classes)}, [=](const Arrays& in) {
            return Arrays{tabulate({in[0].dims[0]}, [&](const Place& p) {
              int64_t label = static_cast<int64_t>(in[1](p)), before = 0;
              for (int64_t c = 0; c < classes; ++c) before += in[0]({p[0], c}) > in[0]({p[0], label});
              return before < k ? 1.0 : 0.0;
            })};
          }};
}

OpCase pairLoss(std::string name, std::string what, Input x, Input t, double (*term)(double, double), bool targets) {
  OpCase c{name + "/" + what, "mx." + name, "{}", {std::move(x), std::move(t)}, [term](const Arrays& in) {
             int64_t n = in[0].dims[0], each = in[0].size() / n;
             return Arrays{tabulate({n}, [&](const Place& p) {
               double sum = 0;
               for (int64_t i = 0; i < each; ++i) sum += term(in[0].data[p[0] * each + i], in[1].data[p[0] * each + i]);
               return sum / static_cast<double>(each);
             })};
           }, {0}};
  if (targets) c.differentiable.push_back(1);
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
  cases.push_back(crossEntropy("digits", 10, Kind::i32));
  cases.push_back(crossEntropy("many", 37, Kind::i64));
  cases.push_back(crossEntropy("one", 1, Kind::i32));
  cases.push_back(accuracy("digits", "accuracy", "{}", 3, 1));
  cases.push_back(accuracy("top_2", "top_k_accuracy", "{k = 2 : i64}", 5, 2));
  cases.push_back(accuracy("top_all", "top_k_accuracy", "{k = 5 : i64}", 5, 5));
  auto square = [](double x, double t) { return (x - t) * (x - t); };
  auto absolute = [](double x, double t) { return std::fabs(x - t); };
  auto sigmoidCross = [](double x, double t) {
    double s = 1 / (1 + std::exp(-x));
    return -t * std::log(s) - (1 - t) * std::log(1 - s);
  };
  for (const Dims& dims : {Dims{kN}, Dims{kN, 1}, Dims{kN, 3, 7}}) {
    std::string what = std::to_string(dims.size()) + "_axes";
    cases.push_back(pairLoss("mse_loss", what, real(dims), real(dims), square, true));
    cases.push_back(pairLoss("l1_loss", what, real(dims, -2, 0), real(dims, 0.1, 2), absolute, true));
    cases.push_back(pairLoss("sigmoid_cross_entropy", what, real(dims, -4, 4), real(dims, 0, 1), sigmoidCross, true));
  }
  return cases;
}

}  // namespace mxc::ops_test
