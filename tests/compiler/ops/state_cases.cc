// Cases of random numbers and initial values.
#include <cmath>

#include "ir/initialisers.h"
#include "ir/ops/matmul.h"
#include "ir/ops/shape.h"
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

// Where the nearest number to most draws is `high`, the one below it stands for it: here 1.
OpCase narrow(bool wide) {
  return {"random_uniform/narrow/" + std::string(wide ? "f64" : "f32"), "mx.random_uniform",
          wide ? "{stream = 3 : i64, low = 1.0 : f64, high = 0x3FF0000000000001 : f64, to = tensor<40x$T>}"
               : "{stream = 3 : i64, low = 1.0 : f64, high = 0x3FF0000020000000 : f64, to = tensor<40x$T>}",
          {number(kSeed)}, [](const Arrays&) {
            Array a({40});
            for (double& value : a.data) value = 1;
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

// Rows (or columns, if they are fewer) of length `gain`, orthogonal to each other: their products with each other are compared with those
// that the reference knows, and the matrix spans what the random one did.
OpCase orthogonal(bool wide, Dims dims) {
  std::string what = std::to_string(dims[0]) + "_" + std::to_string(dims.size()) + (wide ? "/f64" : "/f32");
  OpCase c{"orthogonal/" + what, "", "", {number(kSeed)}, [dims](const Arrays&) {
             int64_t rows = dims[0], columns = Array(dims).size() / rows, small = std::min(rows, columns);
             return Arrays{tabulate({small, small}, [](const Place& p) { return p[0] == p[1] ? 2.25 : 0.0; })};
           }};
  c.build = [dims, wide](mlir::OpBuilder& b, mlir::Location loc, mlir::ValueRange in) {
    mlir::Value q = *buildInitialValue(b, loc, "orthogonal", {1.5}, tensorType(dims, wide ? mlir::Type(b.getF64Type()) : b.getF32Type()), in[0], 3);
    int64_t rows = dims[0], columns = Array(dims).size() / rows;
    mlir::Value matrix = make<mx::ReshapeOp>(b, loc, {q}, b.getNamedAttr("shape", b.getDenseI64ArrayAttr({rows, columns})));
    const char* transposed = rows > columns ? "transpose_a" : "transpose_b";
    return llvm::SmallVector<mlir::Value>{make<mx::MatmulOp>(b, loc, {matrix, matrix}, b.getNamedAttr(transposed, b.getBoolAttr(true)))};
  };
  return c;
}

// The weights of bilinear enlargement, as published for Caffe's filler of that name.
OpCase bilinear(Dims dims) {
  std::string to = "tensor<";
  for (int64_t dim : dims) to += std::to_string(dim) + "x";
  return {"bilinear_kernel/" + std::to_string(dims[2]) + "_" + std::to_string(dims[3]), "mx.bilinear_kernel", "{to = " + to + "$T>}", {}, [dims](const Arrays&) {
            return Arrays{tabulate(dims, [&](const Place& p) {
              double value = 1;
              for (size_t axis : {2, 3}) {
                double f = std::ceil(static_cast<double>(dims[axis]) / 2), c = (2 * f - 1 - std::fmod(f, 2)) / (2 * f);
                value *= 1 - std::fabs(static_cast<double>(p[axis]) / f - c);
              }
              return value;
            })};
          }};
}

// Initialisers with arguments, against the draws themselves.
OpCase scaledDraws(bool wide, std::string what, std::string init, std::vector<double> args, double scale, bool normalDraws) {
  OpCase c{"initialiser/" + what + (wide ? "/f64" : "/f32"), "", "", {number(kSeed)}, [=](const Arrays&) {
             Draws draws(~uint64_t{0}, 3, wide);
             Array a({6, 4, 3});
             for (int64_t i = 0; i < a.size(); ++i)
               a.data[i] = scale * (normalDraws ? std::sqrt(-2 * std::log(1 - draws(2 * i))) * std::cos(2 * M_PI * draws(2 * i + 1)) : 2 * draws(i) - 1);
             return Arrays{a};
           }};
  c.build = [=](mlir::OpBuilder& b, mlir::Location loc, mlir::ValueRange in) {
    mlir::Type element = wide ? mlir::Type(b.getF64Type()) : b.getF32Type();
    return llvm::SmallVector<mlir::Value>{*buildInitialValue(b, loc, init, args, tensorType({6, 4, 3}, element), in[0], 3)};
  };
  return c;
}

}  // namespace

std::vector<OpCase> stateCases() {
  std::vector<OpCase> cases;
  for (bool wide : {false, true}) {
    cases.push_back(uniform(wide));
    cases.push_back(narrow(wide));
    cases.push_back(normal(wide));
    cases.push_back(dropout(wide));
    for (const Dims& dims : {Dims{7, 7}, Dims{5, 33}, Dims{19, 4}, Dims{6, 2, 3, 3}, Dims{1, 3}}) cases.push_back(orthogonal(wide, dims));
    // fan_in 12, fan_out 18.
    cases.push_back(scaledDraws(wide, "xavier", "xavier", {}, std::sqrt(6.0 / 30), false));
    cases.push_back(scaledDraws(wide, "xavier_in", "xavier", {0, 0, 2.34}, std::sqrt(2.34 / 12), false));
    cases.push_back(scaledDraws(wide, "xavier_out_normal", "xavier", {1, 1, 2}, std::sqrt(2.0 / 18), true));
    cases.push_back(scaledDraws(wide, "xavier_average_normal", "xavier", {1, 2, 3}, std::sqrt(3.0 / 15), true));
    cases.push_back(scaledDraws(wide, "msra", "msra", {}, std::sqrt(2.0 / 12), true));
    cases.push_back(scaledDraws(wide, "msra_slope", "msra", {0.25, 2}, std::sqrt(2.0 / (1.0625 * 15)), true));
  }
  for (const Dims& dims : {Dims{2, 3, 4, 4}, Dims{1, 1, 3, 5}, Dims{1, 2, 1, 2}}) cases.push_back(bilinear(dims));
  for (OpCase& c : cases) c.tolerance = 4;
  return cases;
}

}  // namespace mxc::ops_test
