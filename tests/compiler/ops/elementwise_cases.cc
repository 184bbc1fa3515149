// Cases of the elementwise family.
#include <cmath>

#include "tests/compiler/ops/op_case.h"

namespace mxc::ops_test {
namespace {

using Unary = double (*)(double);
using Binary = double (*)(double, double);

OpCase unary(std::string name, std::string attributes, Input input, std::function<double(double)> f, bool differentiable = true) {
  OpCase c{name + (input.dims.empty() ? "/scalar" : ""), "mx." + name, attributes, {input}, [f](const Arrays& in) {
             return Arrays{tabulate(in[0].dims, [&](const Place& p) { return f(in[0](p)); })};
           }};
  if (differentiable) c.differentiable = {0};
  return c;
}

// A function with jumps, in places between them, where its slope is 0.
OpCase between(std::string name, Input input, std::function<double(double)> f) {
  OpCase c = unary(std::move(name), "{}", std::move(input), std::move(f));
  c.name += "/between";
  return c;
}

OpCase cast(std::string what, std::string attributes, Input input, std::function<double(double)> f) {
  OpCase c = unary("cast", std::move(attributes), std::move(input), f, false);
  c.name += "/" + what;
  return c;
}

Dims broadcastDims(const Dims& a, const Dims& b) {
  Dims dims(std::max(a.size(), b.size()), 1);
  for (const Dims* d : {&a, &b})
    for (size_t i = 0; i < d->size(); ++i) dims[dims.size() - 1 - i] = std::max(dims[dims.size() - 1 - i], (*d)[d->size() - 1 - i]);
  return dims;
}

double broadcastRead(const Array& a, const Place& p) {
  Place q(a.dims.size());
  for (size_t i = 0; i < q.size(); ++i) q[i] = a.dims[i] == 1 ? 0 : p[p.size() - q.size() + i];
  return a(q);
}

OpCase binary(std::string name, std::string what, Input a, Input b, Binary f) {
  return {name + "/" + what, "mx." + name, "{}", {std::move(a), std::move(b)}, [f](const Arrays& in) {
            return Arrays{tabulate(broadcastDims(in[0].dims, in[1].dims),
                                   [&](const Place& p) { return f(broadcastRead(in[0], p), broadcastRead(in[1], p)); })};
          }, {0, 1}};
}

// a where condition is not 0, else b.
OpCase where(std::string what, Input condition, Dims a, Dims b) {
  return {"where/" + what, "mx.where", "{}", {std::move(condition), real(a), real(b)}, [](const Arrays& in) {
            return Arrays{tabulate(broadcastDims(broadcastDims(in[0].dims, in[1].dims), in[2].dims),
                                   [&](const Place& p) { return broadcastRead(in[broadcastRead(in[0], p) != 0 ? 1 : 2], p); })};
          }, {1, 2}};
}

OpCase truth(std::string name, std::string what, Input a, Input b, Binary f) {
  OpCase c = binary(std::move(name), std::move(what), std::move(a), std::move(b), f);
  c.differentiable = {};
  return c;
}

// Multiples of a half from -4 to 4.
Input halves(Dims dims) { return {std::move(dims), Kind::real, -4.2, 4.2, 0, 0.5}; }

// With the sign of b.
double modulo(double a, double b) { return b == 0 ? 0 : a - b * std::floor(a / b); }

// Of whole numbers.
double power(double a, double b) {
  double result = 1;
  for (int i = 0; i < b; ++i) result *= a;
  return b < 0 ? std::trunc(1 / std::pow(a, -b)) : result;
}

double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

std::vector<OpCase> elementwiseCases() {
  const Dims odd = {kN, 3, 5};
  std::vector<OpCase> cases = {
      unary("neg", "{}", real(odd), [](double x) { return -x; }),
      unary("exp", "{}", real(odd), Unary(std::exp)),
      unary("log", "{}", positive(odd), Unary(std::log)),
      unary("log1p", "{}", real(odd, -0.5, 2), Unary(std::log1p)),
      unary("tanh", "{}", real(odd), Unary(std::tanh)),
      unary("tanh", "{}", real({}), Unary(std::tanh)),
      unary("sigmoid", "{}", real(odd), sigmoid),
      unary("relu", "{}", awayFromZero(odd), [](double x) { return std::max(x, 0.0); }),
      unary("softplus", "{}", real(odd), [](double x) { return std::log1p(std::exp(x)); }),
      unary("silu", "{}", real(odd), [](double x) { return x * sigmoid(x); }),
      unary("gelu", "{}", real(odd), [](double x) { return x * 0.5 * std::erfc(-x / std::sqrt(2.0)); }),
      unary("abs", "{}", awayFromZero(odd), [](double x) { return std::fabs(x); }),
      unary("sqrt", "{}", positive(odd), Unary(std::sqrt)),
      unary("rsqrt", "{}", positive(odd), [](double x) { return 1 / std::sqrt(x); }),
      unary("square", "{}", real(odd), [](double x) { return x * x; }),
      unary("erf", "{}", real(odd), Unary(std::erf)),
      unary("sin", "{}", real(odd), Unary(std::sin)),
      unary("cos", "{}", real(odd), Unary(std::cos)),
      unary("stop_gradient", "{}", real(odd), [](double x) { return x; }, false),
      unary("sign", "{}", grained(odd), sign, false),
      between("sign", awayFromZero(odd), sign),
      unary("floor", "{}", halves(odd), Unary(std::floor), false),
      between("floor", real(odd, -9, 9), Unary(std::floor)),
      unary("ceil", "{}", halves(odd), Unary(std::ceil), false),
      between("ceil", real(odd, -9, 9), Unary(std::ceil)),
      unary("round", "{}", halves(odd), [](double x) { return std::nearbyint(x); }, false),
      between("round", real(odd, -9, 9), [](double x) { return std::nearbyint(x); }),
      unary("leaky_relu", "{slope = 0.1 : f64}", awayFromZero(odd), [](double x) { return x > 0 ? x : 0.1 * x; }),
      unary("elu", "{alpha = 0.7 : f64}", awayFromZero(odd), [](double x) { return x > 0 ? x : 0.7 * std::expm1(x); }),
      cast("from_integer", "{to = $T}", Input{odd, Kind::i32, -9, 9}, [](double x) { return x; }),
      cast("from_byte", "{to = $T}", integers(odd, 256, Kind::u8), [](double x) { return x; }),
      cast("to_byte", "{to = ui8}", real(odd, 0, 255), [](double x) { return std::trunc(x); }),
      cast("to_integer", "{to = i32}", real(odd, -9, 9), [](double x) { return std::trunc(x); }),
  };
  // What is not a multiple of any vector, and what is smaller.
  for (const Dims& dims : {Dims{1}, Dims{17}, Dims{kN}, Dims{kN, 1}, Dims{kN, 33}, Dims{2, 1, 3, 1}}) {
    OpCase c = unary("tanh", "{}", real(dims), Unary(std::tanh));
    c.name += "/";
    for (int64_t dim : dims) c.name += (dim == kN ? "n" : std::to_string(dim)) + std::string("_");
    cases.push_back(c);
  }
  Binary add = [](double a, double b) { return a + b; }, sub = [](double a, double b) { return a - b; };
  Binary mul = [](double a, double b) { return a * b; }, div = [](double a, double b) { return a / b; };
  struct Shapes {
    const char* what;
    Dims a, b;
  };
  for (const Shapes& s : {Shapes{"same", {kN, 5}, {kN, 5}}, Shapes{"row", {kN, 5}, {5}}, Shapes{"column", {kN, 5}, {kN, 1}},
                          Shapes{"outer", {kN, 1}, {1, 7}}, Shapes{"scalar", {}, {kN, 3}}, Shapes{"inner", {2, 1, 4}, {3, 1}},
                          Shapes{"channels", {kN, 3, 2, 2}, {3, 1, 1}}}) {
    cases.push_back(binary("add", s.what, real(s.a), real(s.b), add));
    cases.push_back(binary("sub", s.what, real(s.a), real(s.b), sub));
    cases.push_back(binary("mul", s.what, real(s.a), real(s.b), mul));
    cases.push_back(binary("div", s.what, real(s.a), positive(s.b), div));
  }
  cases.push_back(unary("clip", "{low = -1.0 : f64, high = 0.5 : f64}", real(odd), [](double x) { return std::min(std::max(x, -1.0), 0.5); }));
  cases.push_back(unary("logical_not", "{}", grained(odd), [](double x) { return x == 0 ? 1.0 : 0.0; }, false));
  cases.push_back(where("integers", integers({kN, 5}, 2), {kN, 5}, {kN, 5}));
  cases.push_back(where("bytes", integers({kN, 1}, 2, Kind::u8), {5}, {kN, 5}));
  cases.push_back(where("numbers", grained({3, 1}), {1, 7}, {}));
  const std::pair<const char*, Binary> truths[] = {
      {"equal", [](double a, double b) { return a == b ? 1.0 : 0.0; }},
      {"not_equal", [](double a, double b) { return a != b ? 1.0 : 0.0; }},
      {"less", [](double a, double b) { return a < b ? 1.0 : 0.0; }},
      {"less_equal", [](double a, double b) { return a <= b ? 1.0 : 0.0; }},
      {"greater", [](double a, double b) { return a > b ? 1.0 : 0.0; }},
      {"greater_equal", [](double a, double b) { return a >= b ? 1.0 : 0.0; }},
      {"logical_and", [](double a, double b) { return a != 0 && b != 0 ? 1.0 : 0.0; }},
      {"logical_or", [](double a, double b) { return a != 0 || b != 0 ? 1.0 : 0.0; }},
      {"logical_xor", [](double a, double b) { return (a != 0) != (b != 0) ? 1.0 : 0.0; }},
  };
  for (const auto& [name, f] : truths) {
    cases.push_back(truth(name, "row", grained({kN, 5}), grained({5}), f));
    cases.push_back(truth(name, "integers", integers({kN, 3, 1}, 3), integers({kN, 1, 7}, 3), f));
    cases.push_back(truth(name, "booleans", integers({kN, 3, 1}, 2, Kind::boolean), integers({kN, 1, 7}, 2, Kind::boolean), f));
  }
  cases.push_back(truth("div", "integers", Input{{kN, 19}, Kind::i32, -9, 9}, Input{{kN, 19}, Kind::i32, -2, 2},
                        [](double a, double b) { return b == 0 ? 0 : std::trunc(a / b); }));
  cases.push_back(cast("to_boolean", "{to = i1}", Input{odd, Kind::i32, -2, 3}, [](double x) { return x != 0 ? 1.0 : 0.0; }));
  cases.push_back(cast("fraction_to_boolean", "{to = i1}", grained(odd), [](double x) { return x != 0 ? 1.0 : 0.0; }));
  // A negative base with a whole exponent.
  OpCase cube = binary("pow", "whole", awayFromZero({kN, 5}), scalar(3), Binary(std::pow));
  cube.differentiable = {0};
  cases.push_back(cube);
  cases.push_back(binary("pow", "same", positive({kN, 5}), real({kN, 5}), Binary(std::pow)));
  cases.push_back(truth("pow", "integers", Input{{kN, 5}, Kind::i32, -4, 5}, Input{{kN, 5}, Kind::i32, 0, 7}, power));
  cases.push_back(truth("pow", "inverse", Input{{kN, 5}, Kind::i32, 1, 3}, Input{{kN, 5}, Kind::i32, -3, 0}, power));
  cases.push_back(binary("modulo", "same", real({kN, 5}), positive({kN, 5}), modulo));
  cases.push_back(truth("modulo", "negative", real({kN, 5}), real({5}, -1.5, -0.4), modulo));
  cases.push_back(truth("modulo", "integers", Input{{kN, 19}, Kind::i32, -9, 9}, Input{{kN, 19}, Kind::i32, -3, 4}, modulo));
  cases.push_back(binary("maximum", "row", real({kN, 5}), real({5}), [](double a, double b) { return std::max(a, b); }));
  cases.push_back(binary("minimum", "row", real({kN, 5}), real({5}), [](double a, double b) { return std::min(a, b); }));
  return cases;
}

}  // namespace mxc::ops_test
