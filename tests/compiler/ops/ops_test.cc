// Each op against its reference: results with plain loops in double, gradients with central differences of those loops.
#include <bit>
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
  for (auto cases : {elementwiseCases, linearCases, poolCases, windowCases, lrnCases, shapeCases, indexCases, layerCases, lossCases, stateCases, updateCases})
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
    if (input.grain > 0) x = std::rint(x / input.grain) * input.grain;
    if (input.kind != Kind::real) x = std::floor(x);
    else if (!wide) x = static_cast<float>(x);
  }
  return a;
}

// d value / dx by central differences, for some elements x of an operand.
struct Slope {
  int64_t element;
  double value;
};
std::vector<Slope> slopes(Arrays inputs, unsigned operand, llvm::function_ref<double(const Arrays&)> value) {
  constexpr int64_t kElements = 17;
  std::vector<Slope> slopes;
  const int64_t size = inputs[operand].size(), stride = std::max<int64_t>(1, size / kElements);
  for (int64_t i = 0; i < size; i += stride) {
    double& x = inputs[operand].data[i];
    const double before = x, step = 1e-5 * std::max(1.0, std::fabs(x));
    x = before + step;
    double above = value(inputs);
    x = before - step;
    double below = value(inputs);
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

std::vector<int64_t> batches(const OpCase& c) {
  bool batched = llvm::any_of(c.inputs, [](const Input& i) { return llvm::is_contained(i.dims, kN); });
  return batched ? std::vector<int64_t>{kCompiled, 3, 1} : std::vector<int64_t>{kCompiled};
}

Arrays drawAll(const OpCase& c, int64_t n, bool wide, std::mt19937_64& random) {
  Arrays arrays;
  for (const Input& input : c.inputs) arrays.push_back(draw(input, n, wide, random));
  return arrays;
}

// Numbers in [-1, 1) that f32 holds.
Array drawLike(const Array& like, std::mt19937_64& random) {
  Array a(like.dims);
  for (double& x : a.data) x = static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-52 - 1);
  return a;
}

void expectSameBits(const Arrays& a, const Arrays& b, const std::string& what) {
  for (size_t i = 0; i < a.size(); ++i)
    for (int64_t j = 0; j < a[i].size(); ++j)
      ASSERT_EQ(std::bit_cast<uint64_t>(a[i].data[j]), std::bit_cast<uint64_t>(b[i].data[j])) << what << ", result " << i << ", element " << j;
}

void check(const OpCase& c, bool wide, MLIRContext& context, const std::vector<std::string>& disabled) {
  Builder b(&context);
  std::mt19937_64 random(7);
  FailureOr<Graph> graph = buildGraph(c, wide ? b.getF64Type() : b.getF32Type(), c.reference(drawAll(c, kCompiled, wide, random)).size());
  ASSERT_TRUE(succeeded(graph));
  ASSERT_TRUE(succeeded(verify(*graph->module)));
  auto program = Program::compile(*graph, disabled);
  ASSERT_TRUE(program);
  for (int64_t n : batches(c)) {
    Arrays inputs = drawAll(c, n, wide, random), expected = c.reference(inputs), arguments = inputs, dys;
    if (!c.differentiable.empty())
      for (const Array& result : expected) dys.push_back(drawLike(result, random));
    arguments.insert(arguments.end(), dys.begin(), dys.end());
    Arrays actual = program->run(arguments, n, 1);
    std::string with = " with n = " + std::to_string(n);
    for (size_t r = 0; r < expected.size(); ++r)
      expectNear(actual[r], expected[r], c.tolerance * (wide ? 1e-13 : 2e-6), "result " + std::to_string(r) + with);
    auto weighted = [&](const Arrays& at) {
      double sum = 0;
      Arrays results = c.reference(at);
      for (size_t r = 0; r < dys.size(); ++r)
        for (int64_t i = 0; i < dys[r].size(); ++i) sum += dys[r].data[i] * results[r].data[i];
      return sum;
    };
    for (size_t i = 0; i < c.differentiable.size(); ++i) {
      unsigned operand = c.differentiable[i];
      expectSlopes(actual[expected.size() + i], inputs[operand].dims, slopes(inputs, operand, weighted), c.tolerance * (wide ? 1e-8 : 1e-5),
                   "gradient of operand " + std::to_string(operand) + with);
    }
  }
}

TEST_P(Ops, AgreeWithTheirReference) { check(GetParam().c, GetParam().wide, *context_, {}); }
TEST_P(Ops, AgreeUnfused) { check(GetParam().c, GetParam().wide, *context_, {"layout", "fuse"}); }

// Neither threads nor fusion change a bit.
TEST_P(Ops, GiveTheSameBits) {
  const auto& [c, wide] = GetParam();
  Builder b(context_);
  std::mt19937_64 random(9);
  Arrays results[2];
  for (bool fused : {true, false}) {
    random.seed(9);
    size_t count = c.reference(drawAll(c, kCompiled, wide, random)).size();
    FailureOr<Graph> graph = buildGraph(c, wide ? b.getF64Type() : b.getF32Type(), count);
    ASSERT_TRUE(succeeded(graph));
    auto program = Program::compile(*graph, fused ? std::vector<std::string>{} : std::vector<std::string>{"fuse"});
    ASSERT_TRUE(program);
    const int64_t n = batches(c).size() > 1 ? 3 : kCompiled;
    Arrays arguments = drawAll(c, n, wide, random);
    if (!c.differentiable.empty())
      for (const Array& result : c.reference(arguments)) arguments.push_back(drawLike(result, random));
    results[fused] = program->run(arguments, n, 1);
    expectSameBits(program->run(arguments, n, 2), results[fused], "with two threads");
  }
  expectSameBits(results[0], results[1], "unfused");
}

// Gradients of gradients, with central differences of the gradients that the tests above have compared.
TEST_P(Ops, HaveSecondGradients) {
  const auto& [c, wide] = GetParam();
  if (!wide || c.differentiable.empty() || !c.secondOrder) return;
  Builder b(context_);
  std::mt19937_64 random(11);
  Arrays inputs = drawAll(c, kCompiled, wide, random), results = c.reference(inputs), arguments = inputs;
  FailureOr<Graph> graph = buildSecondOrder(c, b.getF64Type(), results.size());
  ASSERT_TRUE(succeeded(graph));
  ASSERT_TRUE(succeeded(verify(*graph->module)));
  std::vector<unsigned> second = graph->second;
  auto program = Program::compile(*graph, {});
  ASSERT_TRUE(program);
  for (const Array& result : results) arguments.push_back(drawLike(result, random));
  const size_t first = arguments.size(), gradients = c.differentiable.size();
  for (unsigned i : c.differentiable) arguments.push_back(drawLike(inputs[i], random));
  Arrays actual = program->run(arguments, kCompiled, 1);
  auto value = [&](const Arrays& at) {
    double sum = 0;
    Arrays now = program->run(at, kCompiled, 1);
    for (size_t g = 0; g < gradients; ++g)
      for (int64_t i = 0; i < now[g].size(); ++i) sum += arguments[first + g].data[i] * now[g].data[i];
    return sum;
  };
  for (unsigned argument = 0; argument < first; ++argument) {
    bool real = argument >= inputs.size() || llvm::is_contained(c.differentiable, argument);
    if (!real) continue;
    size_t place = std::find(second.begin(), second.end(), argument) - second.begin();
    Array gradient = place < second.size() ? actual[gradients + place] : Array(arguments[argument].dims);
    expectSlopes(gradient, arguments[argument].dims, slopes(arguments, argument, value), c.tolerance * 1e-7,
                 "second gradient of argument " + std::to_string(argument));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Ops, testing::ValuesIn(allParams()), paramName);

}  // namespace
}  // namespace mxc::ops_test
