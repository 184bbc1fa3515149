// The table of op cases. A case is an op with attributes, what goes into it, and a reference: plain loops in double.
//
// ops_test.cc compiles each case for f32 and f64 and compares, with the compiled batch and with smaller ones: results with the
// reference, gradients with central differences of the reference.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Builders.h"

namespace mxc::ops_test {

using Dims = std::vector<int64_t>;
using Place = llvm::SmallVector<int64_t, 6>;

constexpr int64_t kN = -1;        // the batch in a case's dims
constexpr int64_t kCompiled = 4;  // its compiled size

// A row-major tensor of numbers.
struct Array {
  Dims dims;
  std::vector<double> data;

  Array() = default;
  explicit Array(Dims d) : dims(std::move(d)) {
    int64_t size = 1;
    for (int64_t dim : dims) size *= dim;
    data.assign(size, 0.0);
  }
  int64_t size() const { return static_cast<int64_t>(data.size()); }
  int64_t number(const Place& p) const {
    int64_t n = 0;
    for (size_t i = 0; i < dims.size(); ++i) n = n * dims[i] + p[i];
    return n;
  }
  Place place(int64_t n) const {
    Place p(dims.size());
    for (size_t i = dims.size(); i-- > 0; n /= dims[i]) p[i] = n % dims[i];
    return p;
  }
  double& operator()(const Place& p) { return data[number(p)]; }
  double operator()(const Place& p) const { return data[number(p)]; }
};

// The array with element f(place) at each place.
template <typename F>
Array tabulate(Dims dims, F f) {
  Array a(std::move(dims));
  for (int64_t i = 0; i < a.size(); ++i) a.data[i] = f(a.place(i));
  return a;
}

enum class Kind { real, i32, i64, u8, boolean };

// An operand: random numbers in [low, high), those of a magnitude below `hole` left out; integers: in [low, high).
struct Input {
  Dims dims;
  Kind kind = Kind::real;
  double low = -2, high = 2, hole = 0;
  double grain = 0;  // positive: multiples of it, so that some are equal
};
inline Input real(Dims dims, double low = -2, double high = 2) { return {std::move(dims), Kind::real, low, high}; }
inline Input positive(Dims dims) { return {std::move(dims), Kind::real, 0.2, 2}; }
// Whole numbers from -2 to 2: zeros and equals among them.
inline Input grained(Dims dims) { return {std::move(dims), Kind::real, -2.4, 2.4, 0, 1}; }
// For functions with a kink at 0.
inline Input awayFromZero(Dims dims) { return {std::move(dims), Kind::real, -2, 2, 0.1}; }
inline Input integers(Dims dims, int64_t bound, Kind kind = Kind::i32) { return {std::move(dims), kind, 0, static_cast<double>(bound)}; }
// A rank-0 i64 of this value, and a rank-0 real.
inline Input number(int64_t value) { return {{}, Kind::i64, static_cast<double>(value), static_cast<double>(value)}; }
inline Input scalar(double value) { return {{}, Kind::real, value, value}; }

using Arrays = std::vector<Array>;

struct OpCase {
  std::string name;
  std::string op;          // "mx.tanh"
  std::string attributes;  // "{axis = 1 : i64}"; $T stands for the element type
  std::vector<Input> inputs;
  std::function<Arrays(const Arrays&)> reference;  // the first results
  std::vector<unsigned> differentiable = {};       // operands whose gradients are compared
  unsigned results = 1;                            // that the op has
  double tolerance = 1;                            // times the usual ones
  bool secondOrder = true;                         // whether its gradients have gradients
  // Instead of `op`: builds from the inputs.
  std::function<llvm::SmallVector<mlir::Value>(mlir::OpBuilder&, mlir::Location, mlir::ValueRange)> build = {};
};

std::vector<OpCase> elementwiseCases();
std::vector<OpCase> linearCases();  // dense, matmul, conv
std::vector<OpCase> poolCases();
std::vector<OpCase> windowCases();  // conv and pool in one kernel
std::vector<OpCase> lrnCases();
std::vector<OpCase> shapeCases();   // shape, reduce, index
std::vector<OpCase> indexCases();   // index, scan
std::vector<OpCase> layerCases();   // norm, softmax
std::vector<OpCase> lossCases();    // loss, metric
std::vector<OpCase> stateCases();   // random, initial
std::vector<OpCase> updateCases();  // update

}  // namespace mxc::ops_test
