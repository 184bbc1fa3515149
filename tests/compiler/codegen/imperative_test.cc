// NDArray's kernels against compiled graphs with static shapes: the same bits, for every operation that both have.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "codegen/compile.h"
#include "gtest/gtest.h"
#include "ir/mx.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "passes/pipeline.h"
#include "runtime/core/executor.h"
#include "runtime/core/philox.h"
#include "runtime/ndarray/kernels.h"
#include "tests/compiler/codegen/array_call.h"
#include "tests/compiler/codegen/jit.h"

extern "C" {
#if defined(__x86_64__)
extern const mxc::ndarray::KernelFamily mxc_ndarray_kernels_x86_64[];
extern const int64_t mxc_ndarray_families_x86_64;
#else
extern const mxc::ndarray::KernelFamily mxc_ndarray_kernels_native[];
extern const int64_t mxc_ndarray_families_native;
#endif
}

namespace mxc {
namespace {

using plan::DType;
using Bytes = std::vector<char>;

constexpr DType kAll[] = {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8, DType::u8, DType::i32, DType::i64, DType::boolean};
const char* kTypes[] = {"f32", "f64", "f16", "bf16", "i8", "ui8", "i32", "i64", "i1"};
std::string typeText(DType d) { return kTypes[static_cast<int>(d)]; }
bool isReal(DType d) { return d <= DType::bf16; }

std::vector<std::string> familyNames() {
#if defined(__x86_64__)
  const ndarray::KernelFamily* all = mxc_ndarray_kernels_x86_64;
  int64_t count = mxc_ndarray_families_x86_64;
#else
  const ndarray::KernelFamily* all = mxc_ndarray_kernels_native;
  int64_t count = mxc_ndarray_families_native;
#endif
  std::vector<std::string> names;
  for (int64_t i = 0; i < count; ++i) names.push_back(all[i].name);
  return names;
}

// A tensor type as text: "tensor<37xf32>".
std::string tensorText(const std::vector<int64_t>& dims, DType d) {
  std::string text = "tensor<";
  for (int64_t dim : dims) text += std::to_string(dim) + "x";
  return text + typeText(d) + ">";
}
int64_t elements(const std::vector<int64_t>& dims) {
  int64_t n = 1;
  for (int64_t dim : dims) n *= dim;
  return n;
}

// A function under construction as text, whose arguments are inputs and whose values may be outputs.
struct GraphText {
  std::string arguments, lines, outputs, outputTypes, resultTypes;
  int argumentCount = 0, values = 0, outputCount = 0;

  std::string argument(const std::string& type) {
    std::string n = std::to_string(argumentCount++);
    arguments += (arguments.empty() ? "" : ", ") + ("%x" + n) + ": " + type + " {mx.name = \"x" + n + "\", mx.role = \"input\"}";
    return "%x" + n;
  }
  std::string value(const std::string& op, const std::vector<std::string>& operands, const std::string& attributes,
                    const std::vector<std::string>& types, const std::string& result) {
    std::string name = "%v" + std::to_string(values++), joined, typesJoined;
    for (size_t i = 0; i < operands.size(); ++i) joined += (i ? ", " : "") + operands[i], typesJoined += (i ? ", " : "") + types[i];
    lines += "  " + name + " = mx." + op + " " + joined + " {" + attributes + "} : (" + typesJoined + ") -> " + result + "\n";
    return name;
  }
  void output(const std::string& value, const std::string& type) {
    std::string comma = outputCount ? ", " : "";
    resultTypes += comma + type + " {mx.name = \"y" + std::to_string(outputCount) + "\", mx.role = \"output\"}";
    outputs += comma + value;
    outputTypes += comma + type;
    ++outputCount;
  }
  std::string text() const {
    return "func.func @main(" + arguments + ") -> (" + resultTypes + ") {\n" + lines + "  return " + outputs + " : " + outputTypes + "\n}\n";
  }
};

// The outputs of the compiled graph on these inputs, of so many samples if it has a batch axis.
std::vector<Bytes> runGraph(const GraphText& graph, const std::vector<Bytes>& inputs, int64_t samples = 1) {
  mlir::DialectRegistry registry;
  codegen::registerKernelDialects(registry);
  registry.insert<mx::MxDialect>();
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(graph.text(), &context);
  EXPECT_TRUE(module) << graph.text();
  if (!module) return {};
  PipelineOptions options;
  for (const char* pass : {"layout", "fuse", "schedule", "plan-memory"})
    EXPECT_TRUE(mlir::succeeded(runPass(*findPass(pass), *module, options)));
  auto compiled = codegen::compileProgram(*module, {}, {});
  EXPECT_TRUE(mlir::succeeded(compiled));
  if (mlir::failed(compiled)) return {};
  Jit jit(compiled->emit(codegen::Format::object));
  const auto* program = jit.address<const plan::Program>("mxc_program");
  core::PlanView view;
  core::Storage storage;
  core::Executor executor;
  EXPECT_TRUE(core::PlanView::open(*program, &view).ok());
  EXPECT_TRUE(core::Storage::create(view, &storage).ok());
  auto memory = [&](const std::string& name, bool input) {
    uint32_t id = input ? view.find_buffer(name.c_str()) : view.outputs(view.graph(0))[view.find_output(view.graph(0), name.c_str())].buffer;
    return std::pair(static_cast<char*>(storage.address(view.buffer(id))), view.buffer(id).bytes);
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    auto [place, bytes] = memory("x" + std::to_string(i), true);
    EXPECT_EQ(bytes, inputs[i].size());
    std::memcpy(place, inputs[i].data(), inputs[i].size());
  }
  EXPECT_TRUE(core::Executor::create(*program, view, 0, storage, nullptr, &executor).ok());
  EXPECT_TRUE(executor.run(samples).ok());
  std::vector<Bytes> outputs;
  for (int i = 0; i < graph.outputCount; ++i) {
    auto [place, bytes] = memory("y" + std::to_string(i), false);
    outputs.emplace_back(place, place + bytes);
  }
  return outputs;
}

// Random bits every other element, numbers of a moderate size between them.
Bytes draw(DType d, int64_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  size_t size = core::dtype_bytes(d);
  Bytes bytes(n * size);
  for (char& b : bytes) b = static_cast<char>(random() >> 9);
  if (d == DType::boolean)
    for (char& b : bytes) b &= 1;
  for (int64_t i = 0; i < n && isReal(d); i += i % 3 ? 1 : 2) {
    float x = static_cast<float>(random() % 2000) / 256 - 4;
    double wide = x;
    uint32_t bits;
    std::memcpy(&bits, &x, 4);
    // A number of 16 bits with the value of x, cut off.
    uint16_t half = d == DType::bf16 ? bits >> 16 : static_cast<uint16_t>((bits >> 16 & 0x8000) | (x == 0 ? 0 : ((bits >> 13) - (112 << 10)) & 0x7fff));
    std::memcpy(&bytes[i * size], size == 8 ? static_cast<void*>(&wide) : size == 4 ? static_cast<void*>(&x) : &half, size);
  }
  return bytes;
}

bool isNaN(DType d, const char* element) {
  if (d == DType::f32) return std::isnan(*reinterpret_cast<const float*>(element));
  if (d == DType::f64) return std::isnan(*reinterpret_cast<const double*>(element));
  uint16_t bits = isReal(d) ? *reinterpret_cast<const uint16_t*>(element) : 0;
  return (bits & 0x7fff) > (d == DType::f16 ? 0x7c00 : 0x7f80);
}

// Bit for bit, but that one NaN is as good as another.
void expectSame(DType d, const Bytes& got, const Bytes& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  size_t size = core::dtype_bytes(d);
  for (size_t at = 0; at < got.size(); at += size)
    if (std::memcmp(&got[at], &want[at], size) != 0)
      ASSERT_TRUE(isNaN(d, &got[at]) && isNaN(d, &want[at])) << what << " " << typeText(d) << ", element " << at / size;
}

Bytes runKernel(const ndarray::Kernel& k, const std::vector<const Bytes*>& operands, int64_t n, int64_t results) {
  Bytes result(results * core::dtype_bytes(k.result));
  std::vector<void*> args;
  for (const Bytes* b : operands) args.push_back(const_cast<char*>(b->data()));
  args.push_back(result.data());
  k.run(args.data(), n, 0, ndarray::cells(k, n));
  return result;
}

std::string joinDims(const std::vector<int64_t>& dims) {
  std::string text;
  for (int64_t d : dims) text += (text.empty() ? "" : "x") + std::to_string(d);
  return text;
}

// ---- Elementwise ------------------------------------------------------------------------------------------------------------------
class Imperative : public testing::TestWithParam<DType> {};

TEST_P(Imperative, ElementwiseKernelsEqualTheCompiledGraph) {
  DType d = GetParam();
  constexpr int64_t kSize = 59;
  GraphText graph;
  std::string type = tensorText({kSize}, d), truth = tensorText({kSize}, DType::boolean);
  std::string x = graph.argument(type), y = graph.argument(type), c = graph.argument(truth);
  std::vector<Bytes> inputs = {draw(d, kSize, 1), draw(d, kSize, 2), draw(DType::boolean, kSize, 3)};
  std::vector<std::string> names;
  std::vector<const ndarray::Kernel*> kernels;
  std::vector<std::vector<const Bytes*>> operands;
  for (const std::string& name : familyNames()) {
    const ndarray::KernelFamily* family = ndarray::find_family(name);
    const ndarray::Kernel* k = family->find(d);
    bool cast = name.starts_with("cast."), pair = name == "mul_add" || name == "mul_sub" || name == "sub_mul";
    if (!k || k->tile == 0 || name.starts_with("random_")) continue;
    std::string value;
    if (cast) {
      // What an integer cannot hold is not specified.
      if (isReal(d) && !isReal(k->result) && k->result != DType::boolean) continue;
      value = graph.value("cast", {x}, "to = " + typeText(k->result), {type}, tensorText({kSize}, k->result));
    } else if (pair) {
      std::string a = name == "sub_mul" ? y : x, b = name == "sub_mul" ? x : y;
      std::string product = graph.value("mul", {a, b}, "", {type, type}, type);
      bool add = name == "mul_add";
      value = name == "sub_mul" ? graph.value("sub", {x, product}, "", {type, type}, type)
                                : graph.value(add ? "add" : "sub", {product, x}, "", {type, type}, type);
    } else if (name == "where") {
      value = graph.value("where", {c, x, y}, "", {truth, type, type}, type);
    } else {
      bool one = family->operands == 1;
      value = graph.value(name, one ? std::vector{x} : std::vector{x, y}, "", one ? std::vector{type} : std::vector{type, type}, type);
      if (k->result != d) value = graph.value("cast", {value}, "to = i1", {type}, truth);
    }
    graph.output(value, tensorText({kSize}, k->result));
    names.push_back(name);
    kernels.push_back(k);
    const Bytes *a = &inputs[0], *b = &inputs[1];
    if (pair) operands.push_back({a, b, a});
    else if (name == "where") operands.push_back({&inputs[2], a, b});
    else operands.push_back(family->operands == 1 ? std::vector{a} : std::vector{a, b});
  }
  ASSERT_GT(names.size(), 15u);
  std::vector<Bytes> want = runGraph(graph, inputs);
  ASSERT_EQ(want.size(), names.size());
  for (size_t i = 0; i < names.size(); ++i)
    expectSame(kernels[i]->result, runKernel(*kernels[i], operands[i], kSize, kSize), want[i], names[i]);
}

// ---- Reductions and rows: each size is a graph's own static shape --------------------------------------------------------------------
TEST_P(Imperative, ReductionsAndRowsEqualTheCompiledGraphForEverySize) {
  DType d = GetParam();
  std::vector<int64_t> sizes = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33};
  if (d == DType::f32) {
    sizes.clear();
    for (int64_t n = 1; n <= 40; ++n) sizes.push_back(n);
    sizes.insert(sizes.end(), {1000, 4097});
  }
  for (const char* name : {"reduce_sum", "reduce_mean", "reduce_prod", "reduce_max", "reduce_min", "norm", "argmax", "argmin", "softmax", "log_softmax"}) {
    const ndarray::Kernel* k = ndarray::find_kernel(name, d);
    if (!k) continue;
    bool row = std::string(name).ends_with("softmax"), place = std::string(name).starts_with("arg");
    GraphText graph;
    std::vector<Bytes> inputs;
    for (int64_t n : sizes) {
      std::string type = tensorText({n}, d), result = row ? type : tensorText({}, k->result);
      inputs.push_back(draw(d, n, n));
      graph.output(graph.value(name, {graph.argument(type)}, row || place ? "axis = 0 : i64" : "axes = array<i64: 0>", {type}, result), result);
    }
    std::vector<Bytes> want = runGraph(graph, inputs);
    ASSERT_EQ(want.size(), sizes.size());
    for (size_t i = 0; i < sizes.size(); ++i)
      expectSame(k->result, runKernel(*k, {&inputs[i]}, sizes[i], row ? sizes[i] : 1), want[i], std::string(name) + " of " + std::to_string(sizes[i]));
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Imperative, testing::ValuesIn(kAll), [](const auto& info) { return typeText(info.param); });

// ---- Reductions over axes, as kernels.h says to put them together ------------------------------------------------------------------
// Places of the reduced axes in ascending order, then those of a row; float alone.
TEST(ImperativeAxes, RunsPutTogetherEqualTheCompiledGraph) {
  struct Case {
    std::vector<int64_t> dims;
    std::vector<int64_t> axes;
  };
  const Case cases[] = {{{3, 5}, {0, 1}}, {{3, 5}, {1}}, {{4, 2, 21}, {0, 2}}, {{4, 3, 2}, {0, 2}}, {{2, 3, 4, 17}, {0, 1, 3}}, {{2, 3, 4, 17}, {0, 1, 2, 3}},
                        {{7, 6}, {0}}, {{5, 1}, {0}}, {{2, 5, 19}, {0, 1}}, {{2, 5, 19}, {1}}};
  for (std::string name : {"reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "norm", "reduce_mean"}) {
    GraphText graph;
    std::vector<Bytes> inputs;
    for (const Case& c : cases) {
      std::vector<int64_t> kept;
      std::string axes;
      for (size_t axis = 0; axis < c.dims.size(); ++axis) {
        if (std::find(c.axes.begin(), c.axes.end(), axis) == c.axes.end()) kept.push_back(c.dims[axis]);
        else axes += (axes.empty() ? "" : ", ") + std::to_string(axis);
      }
      std::string type = tensorText(c.dims, DType::f32), result = tensorText(kept, DType::f32);
      inputs.emplace_back(elements(c.dims) * 4);
      std::mt19937_64 random(inputs.size());
      for (int64_t i = 0; i < elements(c.dims); ++i) reinterpret_cast<float*>(inputs.back().data())[i] = static_cast<float>(random() % 1000) / 700 + 0.1f;
      graph.output(graph.value(name, {graph.argument(type)}, "axes = array<i64: " + axes + ">", {type}, result), result);
    }
    std::vector<Bytes> want = runGraph(graph, inputs);
    ASSERT_EQ(want.size(), std::size(cases));

    for (size_t i = 0; i < std::size(cases); ++i) {
      const Case& c = cases[i];
      float* x = reinterpret_cast<float*>(inputs[i].data());
      int64_t rank = static_cast<int64_t>(c.dims.size()), last = c.dims.back();
      bool reducesLast = c.axes.back() == rank - 1;
      std::vector<int64_t> strides(rank, 1);
      for (int64_t axis = rank - 2; axis >= 0; --axis) strides[axis] = strides[axis + 1] * c.dims[axis + 1];
      // Offsets of all points of a set of axes but the last axis, row-major.
      auto offsets = [&](bool reduced) {
        std::vector<int64_t> all = {0};
        for (int64_t axis = 0; axis < rank - 1; ++axis) {
          if ((std::find(c.axes.begin(), c.axes.end(), axis) != c.axes.end()) != reduced) continue;
          std::vector<int64_t> next;
          for (int64_t base : all)
            for (int64_t j = 0; j < c.dims[axis]; ++j) next.push_back(base + j * strides[axis]);
          all = next;
        }
        return all;
      };
      bool mean = name == "reduce_mean", norm = name == "norm";
      std::string base = mean ? "reduce_sum" : name;
      const ndarray::Kernel* carried = ndarray::find_kernel(base + ".run", DType::f32);
      auto call = [](const char* kernel, unsigned scalars, std::vector<void*> args, int64_t n) {
        const ndarray::Kernel* k = ndarray::find_kernel(kernel, DType::f32, scalars);
        k->run(args.data(), n, 0, ndarray::cells(*k, n));
      };
      std::vector<float> got;
      for (int64_t kept : offsets(false)) {
        if (reducesLast) {
          char state[128];
          start(*carried, state);
          float result = 0;
          for (int64_t at : offsets(true)) {
            void* args[] = {x + kept + at, state, &result};
            carried->run(args, last, 0, 1);
          }
          got.push_back(result);
          continue;
        }
        float identity;
        std::memcpy(&identity, &carried->identity, 4);
        std::vector<float> row(last, identity);
        for (int64_t at : offsets(true)) {
          void* here = x + kept + at;
          if (norm) call("mul_add", 0, {here, here, row.data(), row.data()}, last);
          else
            call(base == "reduce_sum" ? "add" : base == "reduce_prod" ? "mul" : base == "reduce_max" ? "maximum" : "minimum", 0,
                 {row.data(), here, row.data()}, last);
        }
        if (norm) call("sqrt", 0, {row.data(), row.data()}, last);
        got.insert(got.end(), row.begin(), row.end());
      }
      if (mean) {
        float count = static_cast<float>(elements(c.dims)) / static_cast<float>(got.size());
        call("div", 2, {got.data(), &count, got.data()}, static_cast<int64_t>(got.size()));
      }
      Bytes bytes(got.size() * 4);
      std::memcpy(bytes.data(), got.data(), bytes.size());
      expectSame(DType::f32, bytes, want[i], name + " of " + joinDims(c.dims) + " case " + std::to_string(i));
    }
  }
}

// ---- NDArray's own operations along any axis: how they put kernels together is theirs -----------------------------------------------
TEST(ImperativeAxes, SoftmaxAndPlacesAlongEachAxisEqualTheCompiledGraph) {
  for (const std::vector<int64_t>& dims : std::vector<std::vector<int64_t>>{{3, 37, 5}, {33, 2, 16}, {1, 4, 70}, {129}}) {
    const Bytes input = draw(DType::f32, elements(dims), 21);
    for (int64_t axis = 0; axis < static_cast<int64_t>(dims.size()); ++axis) {
      GraphText graph;
      std::vector<int64_t> without = dims;
      without.erase(without.begin() + axis);
      const std::string type = tensorText(dims, DType::f32), places = tensorText(without, DType::i32), argument = graph.argument(type);
      const std::string attribute = "axis = " + std::to_string(axis) + " : i64";
      for (const char* op : {"softmax", "log_softmax"}) graph.output(graph.value(op, {argument}, attribute, {type}, type), type);
      for (const char* op : {"argmax", "argmin"}) graph.output(graph.value(op, {argument}, attribute, {type}, places), places);
      const std::vector<Bytes> want = runGraph(graph, {input});
      ASSERT_EQ(want.size(), 4u);
      const std::string what = joinDims(dims) + " along axis " + std::to_string(axis);
      size_t i = 0;
      for (const char* op : {"softmax", "log_softmax", "argmax", "argmin"}) {
        const DType result = i < 2 ? DType::f32 : DType::i32;
        expectSame(result, callArray(op, input, dims, {axis}), want[i++], op + (" of " + what));
      }
    }
  }
}

// Every choice of axes of `dims`; `batch`: the axis whose extent the graph knows at run time only, or none (-1).
void checkReductions(const std::vector<int64_t>& dims, int64_t batch) {
  Bytes input(elements(dims) * 4);
  std::mt19937_64 random(5);
  for (int64_t i = 0; i < elements(dims); ++i) reinterpret_cast<float*>(input.data())[i] = static_cast<float>(random() % 1000) / 700 + 0.1f;
  for (unsigned mask = 1; mask < 8; ++mask) {
    std::vector<int64_t> axes;
    std::vector<int64_t> kept;
    std::string list;
    int64_t keptBatch = -1;
    for (int64_t axis = 0; axis < 3; ++axis) {
      if (!(mask >> axis & 1)) {
        if (axis == batch) keptBatch = static_cast<int64_t>(kept.size());
        kept.push_back(dims[axis]);
        continue;
      }
      list += (axes.empty() ? "" : ", ") + std::to_string(axis);
      axes.push_back(axis);
    }
    const auto typed = [](const std::vector<int64_t>& extents, int64_t axis) {
      std::string text = tensorText(extents, DType::f32);
      if (axis >= 0) text.insert(text.size() - 1, ", #mx.enc<batch = " + std::to_string(axis) + ">");
      return text;
    };
    std::vector<const char*> reduces = {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "norm"};
    if (batch < 0 || keptBatch >= 0) reduces.push_back("reduce_prod");
    GraphText graph;
    const std::string type = typed(dims, batch), result = typed(kept, keptBatch), argument = graph.argument(type);
    for (const char* name : reduces) graph.output(graph.value(name, {argument}, "axes = array<i64: " + list + ">", {type}, result), result);
    const std::vector<Bytes> want = runGraph(graph, {input}, batch < 0 ? 1 : dims[batch]);
    ASSERT_EQ(want.size(), reduces.size());
    for (size_t i = 0; i < want.size(); ++i)
      expectSame(DType::f32, callArray(reduces[i], input, dims, axes), want[i],
                 reduces[i] + (" over " + list + " of " + joinDims(dims) + ", batch axis " + std::to_string(batch)));
  }
}

// Short and long ones: rows of one step and of several, a block over several rows, several blocks in a row, axes outside of blocks.
TEST(ImperativeAxes, ReductionsOverEachChoiceOfAxesEqualTheCompiledGraph) {
  for (const std::vector<int64_t>& dims : std::vector<std::vector<int64_t>>{{3, 37, 5}, {130, 3, 7}, {3, 70, 33}, {2, 5, 1100}})
    checkReductions(dims, -1);
  for (int64_t batch : {0, 1, 2}) checkReductions({3, 70, 33}, batch);
}

// ---- Random numbers ---------------------------------------------------------------------------------------------------------------
TEST(ImperativeRandom, KernelsDrawWhatGraphsDraw) {
  constexpr int64_t kSize = 133;
  for (DType d : {DType::f32, DType::f64}) {
    GraphText graph;
    std::string number = tensorText({}, DType::i64), type = tensorText({kSize}, d);
    std::string seed = graph.argument(number), step = graph.argument(number);
    for (const char* op : {"random_uniform", "random_normal"}) {
      std::string range = std::string(op) == "random_uniform" ? "low = -1.5 : f64, high = 2.25 : f64" : "mean = 0.3 : f64, deviation = 1.7 : f64";
      graph.output(graph.value(op, {seed, step}, range + ", stream = 9 : i64, to = " + type, {number, number}, type), type);
    }
    int64_t numbers[] = {1234567890123, 77};
    std::vector<Bytes> inputs;
    for (int64_t& n : numbers) inputs.emplace_back(reinterpret_cast<char*>(&n), reinterpret_cast<char*>(&n) + 8);
    std::vector<Bytes> want = runGraph(graph, inputs);
    ASSERT_EQ(want.size(), 2u);
    core::PhiloxKey key = core::philox_key(numbers[0], numbers[1], 0, 9);
    int64_t first = 0;
    auto drawn = [&](const char* name, double scale, double offset) {
      Bytes y(kSize * core::dtype_bytes(d));
      const ndarray::Kernel *k = ndarray::find_kernel(name, d), *scaled = ndarray::find_kernel("mul_add", d, 6);
      void* args[] = {key.word, &first, y.data()};
      k->run(args, kSize, 0, ndarray::cells(*k, kSize));
      float narrow[] = {static_cast<float>(scale), static_cast<float>(offset)};
      bool wide = d == DType::f64;
      void* more[] = {y.data(), wide ? static_cast<void*>(&scale) : &narrow[0], wide ? static_cast<void*>(&offset) : &narrow[1], y.data()};
      scaled->run(more, kSize, 0, ndarray::cells(*scaled, kSize));
      return y;
    };
    expectSame(d, drawn("random_uniform", 2.25 + 1.5, -1.5), want[0], "uniform");
    expectSame(d, drawn("random_normal", 1.7, 0.3), want[1], "normal");
  }
}

}  // namespace
}  // namespace mxc
