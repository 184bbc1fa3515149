// Cases of the loss and metric families.
#include <cmath>

#include "tests/compiler/ops/op_case.h"

namespace mxc::ops_test {
namespace {

double crossEntropyOf(const Array& logits, int64_t row, int64_t label) {
  double sum = 0;
  for (int64_t c = 0; c < logits.dims[1]; ++c) sum += std::exp(logits({row, c}));
  return std::log(sum) - logits({row, label});
}

OpCase crossEntropy(std::string what, int64_t classes, Kind kind) {
  return {"softmax_cross_entropy/" + what, "mx.softmax_cross_entropy", "{}", {real({kN, classes}, -6, 6), integers({kN}, classes, kind)},
          [](const Arrays& in) {
            return Arrays{tabulate({in[0].dims[0]}, [&](const Place& p) { return crossEntropyOf(in[0], p[0], static_cast<int64_t>(in[1](p))); })};
          }, {0}};
}

// The mean of the result is the sum of the losses of rows that count over n, their number, or 1.
OpCase ignoring(std::string what, std::string normalise, int64_t classes, Input labels, int64_t ignored) {
  std::string attributes = "{ignore_label = " + std::to_string(ignored) + " : i64, normalise = \"" + normalise + "\"}";
  return {"softmax_cross_entropy/" + what + "_" + normalise, "mx.softmax_cross_entropy", attributes, {real({kN, classes}, -6, 6), std::move(labels)},
          [=](const Arrays& in) {
            auto counts = [&](int64_t row) {
              double label = in[1]({row});
              return label != static_cast<double>(ignored) && label >= 0 && label < static_cast<double>(classes);
            };
            double n = static_cast<double>(in[0].dims[0]), valid = 0;
            for (int64_t row = 0; row < in[0].dims[0]; ++row) valid += counts(row);
            double factor = normalise == "none" ? n : normalise == "valid" ? n / std::max(valid, 1.0) : 1;
            return Arrays{tabulate({in[0].dims[0]}, [&](const Place& p) {
              return counts(p[0]) ? factor * crossEntropyOf(in[0], p[0], static_cast<int64_t>(in[1](p))) : 0.0;
            })};
          }, {0}};
}

OpCase sumOfLosses() {
  OpCase c = ignoring("all", "none", 3, integers({kN}, 3), 99);
  c.attributes = "{normalise = \"none\"}";
  return c;
}

// The sum over the last axis of t (log t - x), the mean over the axes between; x the log-softmax of the prediction, or itself.
OpCase divergence(std::string what, Dims dims, Input target, bool logarithms) {
  OpCase c{"kl_divergence/" + what, "mx.kl_divergence", std::string("{log_probabilities = ") + (logarithms ? "true}" : "false}"),
           {real(dims, -3, 0), std::move(target)}, [logarithms](const Arrays& in) {
             const int64_t n = in[0].dims[0], classes = in[0].dims.back(), rows = in[0].size() / n / classes;
             return Arrays{tabulate({n}, [&](const Place& p) {
               double sum = 0;
               for (int64_t r = 0; r < rows; ++r) {
                 const double *x = &in[0].data[(p[0] * rows + r) * classes], *t = &in[1].data[(p[0] * rows + r) * classes];
                 double total = 0;
                 for (int64_t i = 0; i < classes; ++i) total += std::exp(x[i]);
                 for (int64_t i = 0; i < classes; ++i)
                   if (t[i] > 0) sum += t[i] * (std::log(t[i]) - (logarithms ? x[i] : x[i] - std::log(total)));
               }
               return sum / static_cast<double>(rows);
             })};
           }, {0, 1}};
  return c;
}

OpCase withAttributes(OpCase c, std::string attributes) {
  c.attributes = std::move(attributes);
  return c;
}

// Of all samples: f(true positives, false positives, false negatives, true negatives).
OpCase binaryMetric(std::string name, std::string what, int64_t classes, int64_t positive, double (*f)(double, double, double, double)) {
  return {name + "/" + what, "mx." + name, "{positive = " + std::to_string(positive) + " : i64}", {real({kN, classes}), integers({kN}, classes)},
          [=](const Arrays& in) {
            double count[2][2] = {};
            for (int64_t row = 0; row < in[0].dims[0]; ++row) {
              int64_t best = 0;
              for (int64_t c = 0; c < classes; ++c)
                if (in[0]({row, c}) > in[0]({row, best})) best = c;
              ++count[best == positive][in[1]({row}) == static_cast<double>(positive)];
            }
            Array result{Dims{}};
            result.data = {f(count[1][1], count[1][0], count[0][1], count[0][0])};
            return Arrays{result};
          }};
}

double f1(double tp, double fp, double fn, double) { return tp + fp + fn == 0 ? 0 : 2 * tp / (2 * tp + fp + fn); }
double matthews(double tp, double fp, double fn, double tn) {
  double product = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn);
  return product == 0 ? 0 : (tp * tn - fp * fn) / std::sqrt(product);
}

OpCase perplexity(std::string what, int64_t classes, std::string attributes, int64_t ignored) {
  return {"perplexity/" + what, "mx.perplexity", std::move(attributes), {real({kN, classes}, -6, 6), integers({kN}, classes)}, [=](const Arrays& in) {
            double sum = 0, rows = 0;
            for (int64_t row = 0; row < in[0].dims[0]; ++row) {
              auto label = static_cast<int64_t>(in[1]({row}));
              if (label != ignored) sum += crossEntropyOf(in[0], row, label), ++rows;
            }
            Array result{Dims{}};
            result.data = {std::exp(sum / std::max(rows, 1.0))};
            return Arrays{result};
          }, {0}};
}

OpCase rmse(std::string what, Dims dims) {
  return {"rmse/" + what, "mx.rmse", "{}", {real(dims), real(dims)}, [](const Arrays& in) {
            double sum = 0;
            for (int64_t i = 0; i < in[0].size(); ++i) sum += std::pow(in[0].data[i] - in[1].data[i], 2);
            Array result{Dims{}};
            result.data = {std::sqrt(sum / static_cast<double>(in[0].size()))};
            return Arrays{result};
          }, {0, 1}};
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

std::vector<OpCase> lossCases() {
  std::vector<OpCase> cases;
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
    cases.push_back(withAttributes(pairLoss("hinge_loss", what, real(dims), real(dims), [](double x, double t) { return std::max(0.0, 0.7 - x * t); }, true),
                                   "{margin = 0.7 : f64}"));
    cases.push_back(withAttributes(pairLoss("hinge_loss", what + "_squared", real(dims), real(dims),
                                            [](double x, double t) { return std::pow(std::max(0.0, 1 - x * t), 2); }, true), "{squared = true}"));
    cases.push_back(withAttributes(pairLoss("huber_loss", what, real(dims), real(dims), [](double x, double t) {
                                     double size = std::fabs(x - t);
                                     return size <= 0.8 ? size * size / 2 : 0.8 * (size - 0.4);
                                   }, true), "{delta = 0.8 : f64}"));
  }
  for (const char* normalise : {"batch", "valid", "none"}) {
    cases.push_back(ignoring("among", normalise, 3, integers({kN}, 3), 1));
    cases.push_back(ignoring("behind", normalise, 5, integers({kN}, 6, Kind::i64), 5));
    cases.push_back(ignoring("outside", normalise, 7, Input{{kN}, Kind::i32, -3, 9}, -1));
  }
  cases.push_back(ignoring("nothing_counts", "valid", 3, integers({kN}, 1), 0));
  cases.push_back(sumOfLosses());
  cases.push_back(divergence("rows", {kN, 5}, real({kN, 5}, 0.1, 1), false));
  cases.push_back(divergence("sequences", {kN, 3, 17}, real({kN, 3, 17}, 0.1, 1), false));
  cases.push_back(divergence("logarithms", {kN, 5}, real({kN, 5}, 0.1, 1), true));
  OpCase certain = divergence("certain", {kN, 6}, Input{{kN, 6}, Kind::real, 0, 1.4, 0, 1}, false);
  certain.differentiable = {0};  // at t = 0 the divergence has none in t
  cases.push_back(certain);
  cases.push_back(binaryMetric("f1_score", "two", 2, 1, f1));
  cases.push_back(binaryMetric("f1_score", "many", 4, 2, f1));
  cases.push_back(binaryMetric("f1_score", "one", 1, 0, f1));
  cases.push_back(binaryMetric("mcc", "two", 2, 0, matthews));
  cases.push_back(binaryMetric("mcc", "many", 3, 1, matthews));
  cases.push_back(binaryMetric("mcc", "one", 1, 0, matthews));
  cases.push_back(perplexity("all", 10, "{}", -1));
  cases.push_back(perplexity("ignoring", 3, "{ignore_label = 1 : i64}", 1));
  cases.push_back(rmse("numbers", {kN}));
  cases.push_back(rmse("rows", {kN, 3, 5}));
  for (OpCase& c : cases)
    if (c.name.starts_with("perplexity") || c.name.find("none") != std::string::npos) c.tolerance = 4;
  return cases;
}

}  // namespace mxc::ops_test
