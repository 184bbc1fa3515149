// Cases of random numbers and optimizer updates.
#include <cmath>

#include "ir/optimizers.h"
#include "runtime/core/philox.h"
#include "tests/compiler/ops/op_case.h"

namespace mxc::ops_test {
namespace {

constexpr int64_t kSeed = 0x3456789abcdef, kStep = 5;

// The draws of runtime/core/philox.h as numbers in [0, 1).
struct Draws {
  core::PhiloxKey key;
  bool wide;
  Draws(uint64_t step, uint32_t stream, bool wide) : key(core::philox_key(kSeed, step, 0, stream)), wide(wide) {}
  double operator()(int64_t element) const {
    if (wide) return core::philox_uniform(core::philox_draw64(key, 0, element));
    return static_cast<double>(core::philox_uniform(core::philox_draw32(key, 0, element)));
  }
};

// Random ops draw other numbers for f32 than for f64: one case each.
OpCase uniform(bool wide) {
  return {"random_uniform/" + std::string(wide ? "f64" : "f32"), "mx.random_uniform",
          "{stream = 3 : i64, low = -1.0 : f64, high = 3.0 : f64, to = tensor<4x5x7x$T>}", {number(kSeed)}, [wide](const Arrays&) {
            Draws draws(~uint64_t{0}, 3, wide);
            Array a({4, 5, 7});
            for (int64_t i = 0; i < a.size(); ++i) a.data[i] = draws(i) * 4 - 1;
            return Arrays{a};
          }};
}

OpCase normal(bool wide) {
  return {"random_normal/" + std::string(wide ? "f64" : "f32"), "mx.random_normal",
          "{stream = 1 : i64, mean = 0.5 : f64, deviation = 2.0 : f64, to = tensor<33x$T>}", {number(kSeed), number(kStep)}, [wide](const Arrays&) {
            Draws draws(kStep, 1, wide);
            Array a({33});
            for (int64_t i = 0; i < a.size(); ++i)
              a.data[i] = 0.5 + 2 * std::sqrt(-2 * std::log(1 - draws(2 * i))) * std::cos(2 * M_PI * draws(2 * i + 1));
            return Arrays{a};
          }};
}

OpCase dropout(bool wide) {
  return {"dropout_apply/" + std::string(wide ? "f64" : "f32"), "mx.dropout_apply", "{stream = 2 : i64, rate = 0.3 : f64}",
          {real({kN, 3, 5}), number(kSeed), number(kStep)}, [wide](const Arrays& in) {
            Draws draws(kStep, 2, wide);
            Array a(in[0].dims);
            for (int64_t i = 0; i < a.size(); ++i) a.data[i] = draws(i) < 0.3 ? 0 : in[0].data[i] / 0.7;
            return Arrays{a};
          }, {0}};
}

// One step of an optimizer on a tensor; hyper-parameters are the inputs after weight, gradient and states, in the kind's order.
struct Hyper {
  const OptimizerKind& kind;
  const Arrays& in;
  double operator()(llvm::StringRef name) const {
    for (size_t i = 0; i < kind.hypers.size(); ++i)
      if (kind.hypers[i].name == name) return in[2 + kind.states.size() + i].data[0];
    return NAN;
  }
};

constexpr double kLrMult = 0.5, kWdMult = 2;
using Rule = void (*)(const Hyper& h, double g, double decay, double& w, double* states);

OpCase update(std::string name, std::string what, Rule rule, bool decoupled, std::vector<std::pair<llvm::StringRef, double>> numbers) {
  const OptimizerKind& kind = *findOptimizer(name);
  OpCase c{"update/" + name + what, "", "", {real({5, 7}), real({5, 7})}, [&kind, rule, decoupled](const Arrays& in) {
             Hyper h{kind, in};
             Arrays out = {in[0]};
             for (size_t s = 0; s < kind.states.size(); ++s) out.push_back(in[2 + s]);
             for (int64_t i = 0; i < in[0].size(); ++i) {
               double g = in[1].data[i] * h("rescale"), decay = h("weight_decay") * kWdMult, states[2] = {};
               if (h("clip") > 0) g = std::min(std::max(g, -h("clip")), h("clip"));
               if (!decoupled) g += decay * in[0].data[i];
               for (size_t s = 0; s < kind.states.size(); ++s) states[s] = out[1 + s].data[i];
               rule(h, g, decay, out[0].data[i], states);
               for (size_t s = 0; s < kind.states.size(); ++s) out[1 + s].data[i] = states[s];
             }
             return out;
           }};
  for (size_t s = 0; s < kind.states.size(); ++s) c.inputs.push_back(positive({5, 7}));
  for (const HyperParameter& hyper : kind.hypers) {
    double value = hyper.defaultValue;
    for (auto& [name, number] : numbers)
      if (name == hyper.name) value = number;
    c.inputs.push_back(scalar(value));
  }
  c.inputs.push_back(number(kStep));
  c.build = [&kind](mlir::OpBuilder& b, mlir::Location loc, mlir::ValueRange in) {
    auto hyper = [&](llvm::StringRef name) {
      size_t i = 0;
      while (kind.hypers[i].name != name) ++i;
      return in[2 + kind.states.size() + i];
    };
    return kind.build(b, loc, {in[0], in[1], in.slice(2, kind.states.size()), hyper, in.back(), kLrMult, kWdMult});
  };
  return c;
}

void sgd(const Hyper& h, double g, double, double& w, double*) { w -= h("lr") * kLrMult * g; }
void momentum(const Hyper& h, double g, double, double& w, double* v) {
  v[0] = h("momentum") * v[0] + g;
  w -= h("lr") * kLrMult * v[0];
}
void nesterov(const Hyper& h, double g, double, double& w, double* v) {
  v[0] = h("momentum") * v[0] + g;
  w -= h("lr") * kLrMult * (g + h("momentum") * v[0]);
}
template <bool decoupled>
void adam(const Hyper& h, double g, double decay, double& w, double* s) {
  s[0] = h("beta1") * s[0] + (1 - h("beta1")) * g;
  s[1] = h("beta2") * s[1] + (1 - h("beta2")) * g * g;
  double mean = s[0] / (1 - std::pow(h("beta1"), kStep + 1)), variance = s[1] / (1 - std::pow(h("beta2"), kStep + 1));
  double before = w;
  w -= h("lr") * kLrMult * mean / (std::sqrt(variance) + h("epsilon"));
  if (decoupled) w -= h("lr") * kLrMult * decay * before;
}

}  // namespace

std::vector<OpCase> stateCases() {
  std::vector<OpCase> cases;
  for (bool wide : {false, true}) {
    cases.push_back(uniform(wide));
    cases.push_back(normal(wide));
    cases.push_back(dropout(wide));
  }
  cases.push_back(update("sgd", "", sgd, false, {{"lr", 0.1}}));
  cases.push_back(update("sgd", "_all", sgd, false, {{"lr", 0.1}, {"weight_decay", 0.3}, {"rescale", 0.5}, {"clip", 0.4}}));
  cases.push_back(update("momentum", "", momentum, false, {{"lr", 0.1}, {"weight_decay", 0.3}}));
  cases.push_back(update("nesterov", "", nesterov, false, {{"lr", 0.1}, {"weight_decay", 0.3}}));
  cases.push_back(update("adam", "", adam<false>, false, {{"lr", 0.1}, {"weight_decay", 0.3}}));
  cases.push_back(update("adamw", "", adam<true>, true, {{"lr", 0.1}, {"weight_decay", 0.3}, {"clip", 0.4}}));
  for (OpCase& c : cases) c.tolerance = 4;
  return cases;
}

}  // namespace mxc::ops_test
