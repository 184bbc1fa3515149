// Optimizers over several steps, against the rules of their papers in plain loops, with multipliers of rate and decay.
#include <cmath>

#include "ir/optimizers.h"
#include "ir/ops/elementwise.h"
#include "tests/compiler/ops/op_case.h"

namespace mxc::ops_test {
namespace {

constexpr int64_t kFirst = 5, kSteps = 3;
constexpr double kLrMult = 0.5, kWdMult = 2;

// Inputs: weight, a gradient for each step, the states, the hyper-parameters in the kind's order, the first step's number.
struct Hyper {
  const OptimizerKind& kind;
  const Arrays& in;
  double operator()(llvm::StringRef name) const {
    for (size_t i = 0; i < kind.hypers.size(); ++i)
      if (kind.hypers[i].name == name) return in[1 + kSteps + kind.states.size() + i].data[0];
    return NAN;
  }
  double rate() const { return (*this)("lr") * kLrMult; }
  double decay() const { return (*this)("weight_decay") * kWdMult; }
};

using Numbers = std::vector<double>;
// A step on a parameter; g: the gradient rescaled and clipped; s: the states; t: 1 in the first step of all.
using Rule = void (*)(const Hyper& h, int64_t t, const Numbers& g, Numbers& w, std::vector<Numbers>& s);

OpCase update(std::string name, std::string what, Rule rule, std::vector<std::pair<llvm::StringRef, double>> numbers) {
  const OptimizerKind& kind = *findOptimizer(name);
  OpCase c{"update/" + name + what, "", "", {}, [&kind, rule](const Arrays& in) {
             Hyper h{kind, in};
             Numbers w = in[0].data;
             std::vector<Numbers> states;
             for (size_t s = 0; s < kind.states.size(); ++s) states.push_back(in[1 + kSteps + s].data);
             for (int64_t step = 0; step < kSteps; ++step) {
               Numbers g = in[1 + step].data;
               for (double& x : g) {
                 x *= h("rescale");
                 if (h("clip") > 0) x = std::min(std::max(x, -h("clip")), h("clip"));
               }
               rule(h, kFirst + step + 1, g, w, states);
             }
             Arrays out = {in[0]};
             out[0].data = w;
             for (const Numbers& state : states) {
               out.push_back(in[0]);
               out.back().data = state;
             }
             return out;
           }};
  for (int64_t i = 0; i <= kSteps; ++i) c.inputs.push_back(real({5, 7}));
  for (size_t s = 0; s < kind.states.size(); ++s) c.inputs.push_back(positive({5, 7}));
  for (const HyperParameter& hyper : kind.hypers) {
    double value = hyper.defaultValue;
    for (auto& [name, number] : numbers)
      if (name == hyper.name) value = number;
    c.inputs.push_back(scalar(value));
  }
  c.inputs.push_back(number(kFirst));
  c.build = [&kind](mlir::OpBuilder& b, mlir::Location loc, mlir::ValueRange in) {
    auto hyper = [&](llvm::StringRef name) {
      size_t i = 0;
      while (kind.hypers[i].name != name) ++i;
      return in[1 + kSteps + kind.states.size() + i];
    };
    llvm::SmallVector<mlir::Value> now = {in[0]};
    llvm::append_range(now, in.slice(1 + kSteps, kind.states.size()));
    for (int64_t step = 0; step < kSteps; ++step) {
      mlir::Value count = make<mx::AddOp>(b, loc, {in.back(), mx::makeConstant(b, loc, static_cast<double>(step), b.getI64Type())});
      now = kind.build(b, loc, {now[0], in[1 + step], llvm::ArrayRef(now).drop_front(), hyper, count, kLrMult, kWdMult});
    }
    return now;
  };
  c.tolerance = 20;
  return c;
}

// A rule of single elements, its gradient with weight decay.
template <void (*rule)(const Hyper& h, int64_t t, double g, double& w, double* s)>
void eachElement(const Hyper& h, int64_t t, const Numbers& g, Numbers& w, std::vector<Numbers>& s) {
  for (size_t i = 0; i < w.size(); ++i) {
    double states[2] = {};
    for (size_t k = 0; k < s.size(); ++k) states[k] = s[k][i];
    rule(h, t, g[i] + h.decay() * w[i], w[i], states);
    for (size_t k = 0; k < s.size(); ++k) s[k][i] = states[k];
  }
}

void sgd(const Hyper& h, int64_t, double g, double& w, double*) { w -= h.rate() * g; }
void momentum(const Hyper& h, int64_t, double g, double& w, double* v) {
  v[0] = h("momentum") * v[0] + g;
  w -= h.rate() * v[0];
}
void nesterov(const Hyper& h, int64_t, double g, double& w, double* v) {
  v[0] = h("momentum") * v[0] + g;
  w -= h.rate() * (g + h("momentum") * v[0]);
}
// The bias-corrected quotient of Adam.
double adamStep(const Hyper& h, int64_t t, double g, double* s) {
  double beta1 = h("beta1"), beta2 = h("beta2"), power = static_cast<double>(t);
  s[0] = beta1 * s[0] + (1 - beta1) * g;
  s[1] = beta2 * s[1] + (1 - beta2) * g * g;
  return s[0] / (1 - std::pow(beta1, power)) / (std::sqrt(s[1] / (1 - std::pow(beta2, power))) + h("epsilon"));
}
void adam(const Hyper& h, int64_t t, double g, double& w, double* s) { w -= h.rate() * adamStep(h, t, g, s); }
void adamw(const Hyper& h, int64_t t, double g, double& w, double* s) {
  double before = w, own = g - h.decay() * w;
  w -= h.rate() * (adamStep(h, t, own, s) + h.decay() * before);
}
void rmsprop(const Hyper& h, int64_t, double g, double& w, double* s) {
  s[0] = h("rho") * s[0] + (1 - h("rho")) * g * g;
  w -= h.rate() * g / (std::sqrt(s[0]) + h("epsilon"));
}
void adagrad(const Hyper& h, int64_t, double g, double& w, double* s) {
  s[0] += g * g;
  w -= h.rate() * g / (std::sqrt(s[0]) + h("epsilon"));
}
void adadelta(const Hyper& h, int64_t, double g, double& w, double* s) {
  double rho = h("rho"), epsilon = h("epsilon");
  s[0] = rho * s[0] + (1 - rho) * g * g;
  double step = std::sqrt(s[1] + epsilon) / std::sqrt(s[0] + epsilon) * g;
  s[1] = rho * s[1] + (1 - rho) * step * step;
  w -= h.rate() * step;
}
// McMahan et al. 2013, algorithm 1, with its lambda_2 the weight decay.
void ftrl(const Hyper& h, int64_t, double g, double& w, double* s) {
  double own = g - h.decay() * w, sigma = (std::sqrt(s[1] + own * own) - std::sqrt(s[1])) / h.rate();
  s[0] += own - sigma * w;
  s[1] += own * own;
  double sign = s[0] < 0 ? -1 : 1;
  w = std::fabs(s[0]) <= h("l1") ? 0 : -(s[0] - sign * h("l1")) / ((h("beta") + std::sqrt(s[1])) / h.rate() + h.decay());
}

double length(const Numbers& x) {
  double sum = 0;
  for (double value : x) sum += value * value;
  return std::sqrt(sum);
}

void lamb(const Hyper& h, int64_t t, const Numbers& g, Numbers& w, std::vector<Numbers>& s) {
  Numbers direction(w.size());
  for (size_t i = 0; i < w.size(); ++i) {
    double states[2] = {s[0][i], s[1][i]};
    direction[i] = adamStep(h, t, g[i], states) + h.decay() * w[i];
    s[0][i] = states[0], s[1][i] = states[1];
  }
  double trust = length(w) > 0 && length(direction) > 0 ? length(w) / length(direction) : 1;
  for (size_t i = 0; i < w.size(); ++i) w[i] -= h.rate() * trust * direction[i];
}

void lars(const Hyper& h, int64_t, const Numbers& g, Numbers& w, std::vector<Numbers>& s) {
  double trust = 1;
  if (length(w) > 0 && length(g) > 0) trust = h("eta") * length(w) / (length(g) + h.decay() * length(w) + h("epsilon"));
  for (size_t i = 0; i < w.size(); ++i) {
    s[0][i] = h("momentum") * s[0][i] + h.rate() * trust * (g[i] + h.decay() * w[i]);
    w[i] -= s[0][i];
  }
}

// The weights are all zero: no trust ratio.
OpCase fromZero(OpCase c) {
  c.inputs[0].low = c.inputs[0].high = 0;
  c.name += "_from_zero";
  return c;
}

// Two gradients of different shapes; the norm is of both, rescaled.
OpCase globalNorm(std::string what, double clipNorm) {
  OpCase c{"update/clip_norm_" + what, "", "", {real({5, 7}), real({3}), scalar(0.5), scalar(clipNorm)}, [](const Arrays& in) {
             double square = 0, limit = in[3].data[0];
             for (int i : {0, 1})
               for (double g : in[i].data) square += std::pow(g * in[2].data[0], 2);
             double scale = limit > 0 && std::sqrt(square) > limit ? limit / std::sqrt(square) : 1;
             Arrays out = {in[0], in[1]};
             for (Array& a : out)
               for (double& g : a.data) g *= scale;
             return out;
           }};
  c.build = [](mlir::OpBuilder& b, mlir::Location loc, mlir::ValueRange in) { return clipByGlobalNorm(b, loc, {in[0], in[1]}, in[2], in[3]); };
  return c;
}

}  // namespace

std::vector<OpCase> updateCases() {
  return {
      update("sgd", "", eachElement<sgd>, {{"lr", 0.1}}),
      update("sgd", "_all", eachElement<sgd>, {{"lr", 0.1}, {"weight_decay", 0.3}, {"rescale", 0.5}, {"clip", 0.4}}),
      update("momentum", "", eachElement<momentum>, {{"lr", 0.1}, {"weight_decay", 0.3}}),
      update("nesterov", "", eachElement<nesterov>, {{"lr", 0.1}, {"weight_decay", 0.3}}),
      update("adam", "", eachElement<adam>, {{"lr", 0.1}, {"weight_decay", 0.3}}),
      update("adamw", "", eachElement<adamw>, {{"lr", 0.1}, {"weight_decay", 0.3}, {"clip", 0.4}}),
      update("rmsprop", "", eachElement<rmsprop>, {{"lr", 0.1}, {"weight_decay", 0.3}, {"rescale", 0.5}, {"clip", 0.4}}),
      update("adagrad", "", eachElement<adagrad>, {{"lr", 0.1}, {"weight_decay", 0.3}, {"rescale", 0.5}}),
      update("adadelta", "", eachElement<adadelta>, {{"lr", 0.7}, {"weight_decay", 0.3}, {"clip", 0.4}}),
      update("ftrl", "", eachElement<ftrl>, {{"lr", 0.1}, {"weight_decay", 0.3}, {"l1", 0.8}, {"rescale", 0.5}}),
      update("lamb", "", lamb, {{"lr", 0.1}, {"weight_decay", 0.3}, {"rescale", 0.5}, {"clip", 0.4}}),
      fromZero(update("lamb", "", lamb, {{"lr", 0.1}})),
      update("lars", "", lars, {{"lr", 0.1}, {"weight_decay", 0.3}, {"eta", 0.1}, {"rescale", 0.5}, {"clip", 0.4}}),
      fromZero(update("lars", "", lars, {{"lr", 0.1}})),
      globalNorm("clips", 0.75),
      globalNorm("far", 100),
      globalNorm("off", 0),
  };
}

}  // namespace mxc::ops_test
