// Each op against its reference: results with plain loops in double, gradients with central differences of those loops.
#include <cmath>
#include <random>

#include "codegen/lower_kernels.h"
#include "gtest/gtest.h"
#include "mlir/IR/Verifier.h"
#include "tests/compiler/ops/graph.h"
#include "tests/compiler/ops/program.h"

namespace mxc::ops_test {
namespace {

using namespace mlir;

struct Param {
  OpCase c;
  bool wide;
};

std::vector<Param> allParams() {
  std::vector<Param> params;
  for (auto cases : {elementwiseCases, linearCases, poolCases, shapeCases, layerCases, stateCases})
    for (const OpCase& c : cases())
      for (bool wide : {false, true}) {
        bool other = c.name.ends_with(wide ? "/f32" : "/f64");
        if (!other) params.push_back({c, wide});
      }
  return params;
}

void PrintTo(const Param& param, std::ostream* out) { *out << param.c.op << " " << param.c.attributes; }

std::string paramName(const testing::TestParamInfo<Param>& info) {
  std::string name = info.param.c.name + (info.param.wide ? "_f64" : "_f32");
  for (char& c : name)
    if (!isalnum(c)) c = '_';
  return name;
}

// The array of an input for n samples; values fit the element type exactly.
Array draw(const Input& input, int64_t n, bool wide, std::mt19937_64& random) {
  Dims dims = input.dims;
  for (int64_t& dim : dims)
    if (dim == kN) dim = n;
  Array a(dims);
  for (double& x : a.data) {
    do x = input.low + (input.high - input.low) * static_cast<double>(random() >> 11) * 0x1p-53;
    while (std::fabs(x) < input.hole);
    if (input.kind != Kind::real) x = std::floor(x);
    else if (!wide) x = static_cast<float>(x);
  }
  return a;
}

// d/dx of the sum of dy * results by central differences, for some elements x of an operand.
struct Slope {
  int64_t element;
  double value;
};
std::vector<Slope> centralDifferences(const OpCase& c, Arrays inputs, unsigned operand, const Arrays& dys) {
  auto value = [&] {
    double sum = 0;
    Arrays results = c.reference(inputs);
    for (size_t r = 0; r < dys.size(); ++r)
      for (int64_t i = 0; i < dys[r].size(); ++i) sum += dys[r].data[i] * results[r].data[i];
    return sum;
  };
  constexpr int64_t kElements = 17;
  std::vector<Slope> slopes;
  const int64_t size = inputs[operand].size(), stride = std::max<int64_t>(1, size / kElements);
  for (int64_t i = 0; i < size; i += stride) {
    double& x = inputs[operand].data[i];
    const double before = x, step = 1e-5 * std::max(1.0, std::fabs(x));
    x = before + step;
    double above = value();
    x = before - step;
    double below = value();
    x = before;
    slopes.push_back({i, (above - below) / (2 * step)});
  }
  return slopes;
}

void expectNear(const Array& actual, const Array& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(actual.dims, expected.dims) << what;
  double largest = 1;
  for (double x : expected.data) largest = std::max(largest, std::fabs(x));
  for (int64_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(actual.data[i], expected.data[i], tolerance * largest) << what << ", element " << i << " of " << actual.size();
}

void expectSlopes(const Array& actual, const Dims& dims, const std::vector<Slope>& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(actual.dims, dims) << what;
  double largest = 1;
  for (const Slope& s : expected) largest = std::max(largest, std::fabs(s.value));
  for (const Slope& s : expected)
    ASSERT_NEAR(actual.data[s.element], s.value, tolerance * largest) << what << ", element " << s.element << " of " << actual.size();
}

class Ops : public testing::TestWithParam<Param> {
 protected:
  static void SetUpTestSuite() {
    DialectRegistry registry;
    codegen::registerKernelDialects(registry);
    registry.insert<mx::MxDialect, func::FuncDialect>();
    context_ = new MLIRContext(registry);
    context_->loadAllAvailableDialects();
  }
  static void TearDownTestSuite() {
    delete context_;
    context_ = nullptr;
  }
  static MLIRContext* context_;
};
MLIRContext* Ops::context_ = nullptr;

// Layout, fusion and threads change speed, not results: the smallest batch runs on one thread, others on two.
void check(const OpCase& c, bool wide, MLIRContext& context, const std::vector<std::string>& disabled) {
  Builder b(&context);
  std::mt19937_64 random(7);
  Arrays sample;
  for (const Input& input : c.inputs) sample.push_back(draw(input, kCompiled, wide, random));
  FailureOr<Graph> graph = buildGraph(c, wide ? b.getF64Type() : b.getF32Type(), c.reference(sample).size());
  ASSERT_TRUE(succeeded(graph));
  ASSERT_TRUE(succeeded(verify(*graph->module)));
  auto program = Program::compile(*graph, disabled);
  ASSERT_TRUE(program);
  bool batched = llvm::any_of(c.inputs, [](const Input& i) { return llvm::is_contained(i.dims, kN); });
  for (int64_t n : batched ? std::vector<int64_t>{kCompiled, 3, 1} : std::vector<int64_t>{kCompiled}) {
    Arrays arguments, dys;
    for (const Input& input : c.inputs) arguments.push_back(draw(input, n, wide, random));
    Arrays expected = c.reference(arguments), inputs = arguments;
    if (!c.differentiable.empty())
      for (const Array& result : expected) {
        dys.push_back(Array(result.dims));
        for (double& x : dys.back().data) x = static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-52 - 1);
        arguments.push_back(dys.back());
      }
    Arrays actual = program->run(arguments, n, n == 1 ? 1 : 2);
    std::string with = " with n = " + std::to_string(n);
    for (size_t r = 0; r < expected.size(); ++r)
      expectNear(actual[r], expected[r], c.tolerance * (wide ? 1e-13 : 2e-6), "result " + std::to_string(r) + with);
    for (size_t i = 0; i < c.differentiable.size(); ++i) {
      unsigned operand = c.differentiable[i];
      expectSlopes(actual[expected.size() + i], inputs[operand].dims, centralDifferences(c, inputs, operand, dys), c.tolerance * (wide ? 1e-8 : 1e-5),
                   "gradient of operand " + std::to_string(operand) + with);
    }
  }
}

TEST_P(Ops, AgreeWithTheirReference) { check(GetParam().c, GetParam().wide, *context_, {}); }
TEST_P(Ops, AgreeUnfused) { check(GetParam().c, GetParam().wide, *context_, {"layout", "fuse"}); }

INSTANTIATE_TEST_SUITE_P(All, Ops, testing::ValuesIn(allParams()), paramName);

}  // namespace
}  // namespace mxc::ops_test
