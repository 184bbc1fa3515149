// Cases of local response normalisation.
#include <cmath>

#include "tests/compiler/ops/op_case.h"

namespace mxc::ops_test {
namespace {

// The sum of f over the channels of the window around `p`.
template <typename F>
double windowSum(const Array& x, const Place& p, int64_t size, F f) {
  double sum = 0;
  Place q = p;
  for (q[1] = p[1] - size / 2; q[1] <= p[1] + size / 2; ++q[1])
    if (q[1] >= 0 && q[1] < x.dims[1]) sum += f(x(q));
  return sum;
}

OpCase lrn(std::string what, Dims dims, int64_t size, double alpha, double beta, double k) {
  std::string attributes = "{size = " + std::to_string(size) + " : i64, alpha = " + std::to_string(alpha) + " : f64, beta = " +
                           std::to_string(beta) + " : f64, k = " + std::to_string(k) + " : f64}";
  OpCase c{"lrn/" + what, "mx.lrn", attributes, {real(dims)}, [=](const Arrays& in) {
             return Arrays{tabulate(in[0].dims, [&](const Place& p) {
               double energy = windowSum(in[0], p, size, [](double x) { return x * x; });
               return in[0](p) / std::pow(k + alpha / static_cast<double>(size) * energy, beta);
             })};
           }, {0}};
  c.tolerance = 10;
  return c;
}

}  // namespace

std::vector<OpCase> lrnCases() {
  std::vector<OpCase> cases;
  cases.push_back(lrn("alexnet", {kN, 7, 3, 5}, 5, 1e-4, 0.75, 2));
  cases.push_back(lrn("strong", {kN, 7, 3, 5}, 5, 1.5, 0.75, 0.5));
  cases.push_back(lrn("wide_rows", {kN, 3, 2, 37}, 3, 0.5, 0.5, 1));
  cases.push_back(lrn("many_channels", {kN, 33, 1, 2}, 3, 2, 1, 1));
  cases.push_back(lrn("features", {kN, 9}, 5, 1, 0.75, 2));
  cases.push_back(lrn("beyond_all_channels", {kN, 2, 2, 2}, 7, 1, 0.75, 2));
  cases.push_back(lrn("itself", {kN, 3, 4}, 1, 1, 0.75, 1));
  cases.push_back({"channel_window_sum/five", "mx.channel_window_sum", "{size = 5 : i64}", {real({kN, 7, 3})}, [](const Arrays& in) {
                     return Arrays{tabulate(in[0].dims, [&](const Place& p) { return windowSum(in[0], p, 5, [](double x) { return x; }); })};
                   }, {0}});
  return cases;
}

}  // namespace mxc::ops_test
