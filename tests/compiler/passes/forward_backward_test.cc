// The graph forward_backward of programs with a main of their own: its loss, metrics, state and gradients have the bits of training's; its
// two parts run apart; its memory is at the bound of its order; and the other graphs are those of a program without it.
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "codegen/compile.h"
#include "gtest/gtest.h"
#include "ir/mx.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "passes/pipeline.h"
#include "runtime/core/executor.h"
#include "tests/compiler/codegen/jit.h"

namespace mxc {
namespace {

using namespace mlir;

constexpr float kRate = 0.1f;

// A model of the DSL's operations, with what its inputs may hold.
struct Case {
  const char* name;
  const char* text;
};

// Convolutions (packed weights), pooling, two dense layers; the gradient of the image as well.
constexpr Case kConvolutions = {"convolutions", R"(module @m {
  %x = mx.input "x" {mx.gradient} : tensor<6x3x12x12xf32, #mx.enc<batch = 0>>
  %l = mx.input "l" : tensor<6xi32, #mx.enc<batch = 0>>
  %w0 = mx.parameter "w0" {init = "xavier"} : tensor<*xf32>
  %b0 = mx.parameter "b0" {init = "uniform", init_args = array<f64: -1.0, 1.0>} : tensor<*xf32>
  %w1 = mx.parameter "w1" {init = "xavier"} : tensor<*xf32>
  %w2 = mx.parameter "w2" {init = "xavier"} : tensor<*xf32>
  %c0 = mx.conv2d %x, %w0, %b0 {filters = 20 : i64, kernel = array<i64: 3, 3>} : (tensor<6x3x12x12xf32, #mx.enc<batch = 0>>, tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  %t0 = mx.tanh %c0 : (tensor<*xf32>) -> tensor<*xf32>
  %p0, %i0 = mx.max_pool %t0 {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>} : (tensor<*xf32>) -> (tensor<*xf32>, tensor<*xui8>)
  %c1 = mx.conv2d %p0, %w1 {filters = 18 : i64, kernel = array<i64: 3, 3>} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  %f = mx.flatten %c1 : (tensor<*xf32>) -> tensor<*xf32>
  %d = mx.dense %f, %w2 {units = 7 : i64} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  %loss = mx.softmax_cross_entropy %d, %l : (tensor<*xf32>, tensor<6xi32, #mx.enc<batch = 0>>) -> tensor<*xf32>
  %acc = mx.accuracy %d, %l : (tensor<*xf32>, tensor<6xi32, #mx.enc<batch = 0>>) -> tensor<*xf32>
  %prob = mx.softmax %d : (tensor<*xf32>) -> tensor<*xf32>
  mx.minimize %loss : tensor<*xf32>
  mx.report "accuracy", %acc : tensor<*xf32>
  mx.output "probability", %prob : tensor<*xf32>
  mx.output "hidden", %t0 : tensor<*xf32>
  mx.optimizer "sgd" {lr = 0.1}
})"};

// Random numbers that only an output asks for come first; those of the loss are the same all the same. Two losses, one of them shared.
constexpr Case kDropout = {"dropout", R"(module @m {
  %x = mx.input "x" {mx.gradient} : tensor<6x9xf32, #mx.enc<batch = 0>>
  %w0 = mx.parameter "w0" {init = "xavier"} : tensor<*xf32>
  %w1 = mx.parameter "w1" {init = "xavier"} : tensor<*xf32>
  %v = mx.parameter "v" {init = "xavier"} : tensor<*xf32>
  %r = mx.dropout %x {rate = 0.5} : (tensor<6x9xf32, #mx.enc<batch = 0>>) -> tensor<*xf32>
  %y = mx.dense %r, %v {units = 4 : i64} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  %d0 = mx.dense %x, %w0 {units = 33 : i64} : (tensor<6x9xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
  %e0 = mx.dropout %d0 {rate = 0.25} : (tensor<*xf32>) -> tensor<*xf32>
  %d1 = mx.dense %e0, %w1 {units = 5 : i64} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  %s = mx.square %d1 : (tensor<*xf32>) -> tensor<*xf32>
  %a = mx.abs %d0 : (tensor<*xf32>) -> tensor<*xf32>
  mx.minimize %s : tensor<*xf32>
  mx.minimize %a : tensor<*xf32>
  mx.output "y", %y : tensor<*xf32>
  mx.output "x again", %x : tensor<6x9xf32, #mx.enc<batch = 0>>
  mx.optimizer "sgd" {lr = 0.1}
})"};

// Layer state, of which backward reads the old value too.
constexpr Case kState = {"state", R"(module @m {
  %x = mx.input "x" : tensor<6x17x5x5xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "xavier"} : tensor<*xf32>
  %g = mx.parameter "g" {init = "ones"} : tensor<*xf32>
  %b = mx.parameter "b" {init = "zeros"} : tensor<*xf32>
  %mean = mx.parameter "mean" {init = "uniform", init_args = array<f64: 1.0, 2.0>, trainable = false} : tensor<16xf32>
  %var = mx.parameter "var" {init = "ones", trainable = false} : tensor<16xf32>
  %u = mx.parameter "u" {init = "xavier"} : tensor<5x16xf32>
  %c = mx.conv2d %x, %w {filters = 16 : i64, kernel = array<i64: 3, 3>} : (tensor<6x17x5x5xf32, #mx.enc<batch = 0>>, tensor<*xf32>) -> tensor<*xf32>
  %n = mx.batch_norm %c, %g, %b, %mean, %var : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<*xf32>
  %r = mx.relu %n : (tensor<*xf32>) -> tensor<*xf32>
  %um = mx.mul %u, %mean : (tensor<5x16xf32>, tensor<16xf32>) -> tensor<*xf32>
  %us = mx.reduce_mean %um : (tensor<*xf32>) -> tensor<*xf32>
  %o = mx.mul %r, %us : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  mx.minimize %o : tensor<*xf32>
  mx.report "scale", %us : tensor<*xf32>
  mx.optimizer "sgd" {lr = 0.1}
})"};

// One weight twice, and one that no loss reaches.
constexpr Case kShared = {"shared", R"(module @m {
  %x = mx.input "x" : tensor<6x8xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "xavier"} : tensor<8x8xf32>
  %v = mx.parameter "v" {init = "xavier"} : tensor<8x8xf32>
  %a = mx.dense %x, %w {units = 8 : i64} : (tensor<6x8xf32, #mx.enc<batch = 0>>, tensor<8x8xf32>) -> tensor<*xf32>
  %t = mx.tanh %a : (tensor<*xf32>) -> tensor<*xf32>
  %c = mx.dense %t, %w {units = 8 : i64} : (tensor<*xf32>, tensor<8x8xf32>) -> tensor<*xf32>
  %d = mx.dense %t, %v {units = 8 : i64} : (tensor<*xf32>, tensor<8x8xf32>) -> tensor<*xf32>
  %s = mx.stop_gradient %d : (tensor<*xf32>) -> tensor<*xf32>
  %m = mx.mul %c, %s : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  mx.minimize %m : tensor<*xf32>
  mx.optimizer "sgd" {lr = 0.1}
})"};

struct Compiled {
  std::unique_ptr<MLIRContext> context;
  codegen::CompiledProgram program;
  std::unique_ptr<Jit> jit;
  core::PlanView view;
  std::map<std::string, int64_t> bound;  // of each graph, bytes: what is alive at once in its order

  const plan::Program& plan() { return *jit->address<const plan::Program>("mxc_program"); }
  const plan::Graph& graph(const char* name) { return view.graph(view.find_graph(name)); }
};

std::unique_ptr<Compiled> compile(const char* text, bool ownMain, int64_t memoryLimit = 0) {
  auto made = std::make_unique<Compiled>();
  made->context = std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
  made->context->loadDialect<mx::MxDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, made->context.get());
  PipelineOptions options;
  options.ownMain = ownMain;
  options.memoryLimit = memoryLimit;
  if (!module || failed(runPipeline(*module, options))) return nullptr;
  for (auto function : module->getOps<func::FuncOp>())
    made->bound[function.getName().str()] = function->getAttrOfType<IntegerAttr>("mx.peak_live_bytes").getInt();
  FailureOr<codegen::CompiledProgram> program = codegen::compileProgram(*module, {}, {});
  if (failed(program)) return nullptr;
  made->program = std::move(*program);
  made->jit = std::make_unique<Jit>(made->program.emit(codegen::Format::object));
  core::Status status = core::PlanView::open(made->plan(), &made->view);
  EXPECT_TRUE(status.ok()) << status.text;
  return status.ok() ? std::move(made) : nullptr;
}

// A program's memory and graphs, filled as a training at its beginning is: parameters by their initialisers, inputs at random.
class Session {
 public:
  Session(Compiled& compiled, int threads, int64_t n) : compiled_(compiled), view_(compiled.view), n_(n) {
    EXPECT_TRUE(core::ThreadPool::create(threads, &pool_).ok());
    EXPECT_TRUE(core::Storage::create(view_, &storage_).ok());
    storage_.set_default_hypers(view_);
    for (const char* name : {"step", "seed"})
      if (uint32_t hyper = view_.find_hyper(name); hyper != plan::kNone) storage_.set_hyper(view_, hyper, 7);
    if (uint32_t rate = view_.find_hyper("lr"); rate != plan::kNone) storage_.set_hyper(view_, rate, kRate);
    run("init");
    std::mt19937 random(3);
    for (const plan::Buffer& buffer : view_.buffers()) {
      if (buffer.role != plan::Role::input) continue;
      for (int64_t i = 0; i < core::elements(buffer); ++i) {
        double value = buffer.dtype == plan::DType::i32 ? random() % 7 : std::uniform_real_distribution<double>(-1, 1)(random);
        core::write_scalar(buffer.dtype, static_cast<char*>(storage_.address(buffer)) + i * core::dtype_bytes(buffer.dtype), value);
      }
    }
  }

  core::Executor executor(const char* graph) {
    core::Executor made;
    core::Status status = core::Executor::create(compiled_.plan(), view_, view_.find_graph(graph), storage_, &pool_, &made);
    EXPECT_TRUE(status.ok()) << status.text;
    return made;
  }
  void run(const char* graph) {
    core::Status status = executor(graph).run(n_);
    EXPECT_TRUE(status.ok()) << status.text;
  }

  // The bytes of a result, or of a parameter or state as it is.
  std::string result(const char* graph, plan::OutputKind kind, const std::string& name) {
    for (const plan::Binding& binding : view_.outputs(compiled_.graph(graph)))
      if (binding.kind == kind && view_.text(binding.name) == name) return bytes(view_.buffer(binding.buffer));
    return "none";
  }
  const plan::Buffer& buffer(const std::string& name) { return view_.buffer(view_.find_buffer(name.c_str())); }
  std::string bytes(const plan::Buffer& buffer) {
    return {static_cast<const char*>(storage_.address(buffer)), core::used_bytes(buffer, n_)};
  }

 private:
  Compiled& compiled_;
  const core::PlanView& view_;
  int64_t n_;
  core::ThreadPool pool_;
  core::Storage storage_;
};

// weight - rate * gradient, each element rounded twice.
std::string stepped(const std::string& weight, const std::string& gradient) {
  std::string next = weight;
  for (size_t at = 0; at < weight.size(); at += sizeof(float)) {
    float w, g;
    std::memcpy(&w, weight.data() + at, sizeof w);
    std::memcpy(&g, gradient.data() + at, sizeof g);
    volatile float product = kRate * g;
    w = w - product;
    std::memcpy(next.data() + at, &w, sizeof w);
  }
  return next;
}

class ForwardBackward : public testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(Models, ForwardBackward, testing::Values(kConvolutions, kDropout, kState, kShared),
                         [](const auto& info) { return info.param.name; });

TEST_P(ForwardBackward, HasTheBitsOfTraining) {
  std::unique_ptr<Compiled> compiled = compile(GetParam().text, true);
  ASSERT_TRUE(compiled);
  const core::PlanView& view = compiled->view;
  for (int64_t n : {6, 5, 1}) {
    Session trained(*compiled, 1, n), own(*compiled, 2, n);
    std::map<std::string, std::string> before;
    for (uint32_t parameter : view.parameters()) before[view.text(view.buffer(parameter).name)] = own.bytes(view.buffer(parameter));
    trained.run("train");
    own.run("forward_backward");
    int gradients = 0;
    for (const plan::Binding& binding : view.outputs(compiled->graph("train"))) {
      std::string name = view.text(binding.name);
      if (binding.kind != plan::OutputKind::parameter) {
        EXPECT_EQ(trained.result("train", binding.kind, name), own.result("forward_backward", binding.kind, name)) << name << " of " << n;
        continue;
      }
      ++gradients;
      std::string gradient = own.result("forward_backward", plan::OutputKind::gradient, name);
      ASSERT_EQ(gradient.size(), before[name].size()) << name;
      EXPECT_EQ(own.bytes(own.buffer(name)), before[name]) << name;  // nothing is trained
      EXPECT_NE(trained.bytes(trained.buffer(name)), before[name]) << name;
      EXPECT_EQ(trained.bytes(trained.buffer(name)), stepped(before[name], gradient)) << name << " of " << n;
    }
    EXPECT_GT(gradients, 0);
  }
}

TEST_P(ForwardBackward, RunsInTwoParts) {
  std::unique_ptr<Compiled> compiled = compile(GetParam().text, true);
  ASSERT_TRUE(compiled);
  const plan::Graph& graph = compiled->graph("forward_backward");
  Session whole(*compiled, 1, 6), parts(*compiled, 1, 6);
  whole.run("forward_backward");
  core::Executor executor = parts.executor("forward_backward");
  ASSERT_GT(graph.backward_item, 0u);
  ASSERT_LT(graph.backward_item, executor.top_level_items());
  auto same = [&](bool gradients) {
    for (const plan::Binding& binding : compiled->view.outputs(graph))
      if ((binding.kind == plan::OutputKind::gradient) == gradients) {
        std::string name = compiled->view.text(binding.name);
        EXPECT_EQ(whole.result("forward_backward", binding.kind, name), parts.result("forward_backward", binding.kind, name)) << name;
      }
  };
  EXPECT_TRUE(executor.run_items(6, 0, graph.backward_item).ok());
  // State whose old value backward reads is written with the gradients.
  if (std::string(GetParam().name) != "state") same(false);
  EXPECT_TRUE(executor.run_items(6, graph.backward_item, executor.top_level_items()).ok());
  same(false);
  same(true);
}

TEST_P(ForwardBackward, TakesTheMemoryOfItsBound) {
  std::unique_ptr<Compiled> compiled = compile(GetParam().text, true);
  ASSERT_TRUE(compiled);
  uint64_t bound = static_cast<uint64_t>(compiled->bound["forward_backward"]), arena = compiled->graph("forward_backward").arena_bytes;
  EXPECT_GE(arena, bound);
  EXPECT_LT(arena, bound + 4 * plan::kAlign);  // where small values are alive at the peak, each is aligned
}

// The text of a kernel, without the numbers that depend on what else is in the module.
std::string kernelText(llvm::Module& module, llvm::StringRef name) {
  std::string text, plain;
  llvm::raw_string_ostream stream(text);
  module.getFunction(name)->print(stream);
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] != '#') plain += text[i];
    else while (i + 1 < text.size() && isdigit(text[i + 1])) ++i;
  return plain;
}

TEST_P(ForwardBackward, LeavesTheOtherGraphsAsTheyAre) {
  std::unique_ptr<Compiled> with = compile(GetParam().text, true), without = compile(GetParam().text, false);
  ASSERT_TRUE(with && without);
  const core::PlanView &a = with->view, &b = without->view;
  ASSERT_EQ(a.graphs().size(), b.graphs().size() + 1);
  auto prefix = [](auto longer, auto shorter) {
    return longer.size() >= shorter.size() && std::memcmp(longer.data(), shorter.data(), shorter.size_bytes()) == 0;
  };
  EXPECT_TRUE(prefix(a.args(), b.args()));
  EXPECT_TRUE(prefix(a.deps(), b.deps()));
  EXPECT_TRUE(prefix(a.items(), b.items()));
  EXPECT_TRUE(prefix(a.blocks(), b.blocks()));
  EXPECT_TRUE(prefix(a.graphs(), b.graphs()));
  EXPECT_TRUE(prefix(a.bindings(), b.bindings()));
  EXPECT_TRUE(prefix(a.buffers(), b.buffers()));
  EXPECT_TRUE(prefix(a.parameters(), b.parameters()));
  EXPECT_TRUE(prefix(a.steps(), b.steps()));
  EXPECT_STREQ(a.find_fact("hash"), b.find_fact("hash"));
  size_t kernels = 0;
  for (llvm::Function& kernel : *without->program.module) {
    if (kernel.isDeclaration()) continue;
    EXPECT_EQ(kernelText(*with->program.module, kernel.getName()), kernelText(*without->program.module, kernel.getName()));
    ++kernels;
  }
  EXPECT_GT(kernels, 0u);
}

// A chain whose forward values fill the memory, with batch norm, whose state is read again where it is made again.
std::string chain(int layers) {
  std::string text = "!t = tensor<64x16xf32, #mx.enc<batch = 0>>\nmodule @m {\n  %h0 = mx.input \"x\" : !t\n";
  for (int i = 0; i < layers; ++i) {
    std::string n = std::to_string(i), next = std::to_string(i + 1);
    text += "  %w" + n + " = mx.parameter \"w" + n + "\" {init = \"xavier\"} : tensor<16x16xf32>\n";
    for (const char* name : {"g", "b", "mean", "var"})
      text += std::string("  %") + name + n + " = mx.parameter \"" + name + n + "\" {init = \"ones\", trainable = " +
              (name[0] == 'g' || name[0] == 'b' ? "true" : "false") + "} : tensor<16xf32>\n";
    text += "  %d" + n + " = mx.dense %h" + n + ", %w" + n + " {units = 16 : i64} : (!t, tensor<16x16xf32>) -> !t\n";
    text += "  %n" + n + " = mx.batch_norm %d" + n + ", %g" + n + ", %b" + n + ", %mean" + n + ", %var" + n +
            " : (!t, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> !t\n";
    text += "  %h" + next + " = mx.tanh %n" + n + " : (!t) -> !t\n";
  }
  std::string last = "%h" + std::to_string(layers);
  return text + "  mx.minimize " + last + " : !t\n  mx.output \"y\", " + last + " : !t\n  mx.optimizer \"sgd\" {lr = 0.1}\n}\n";
}

TEST(ForwardBackward, FitsAMemoryLimitWithoutChangingABit) {
  std::string text = chain(16);
  std::unique_ptr<Compiled> free = compile(text.c_str(), true);
  ASSERT_TRUE(free);
  const plan::Device& device = free->view.devices()[0];
  int64_t total = static_cast<int64_t>(device.arena_bytes + device.persistent_bytes + device.io_bytes);
  std::unique_ptr<Compiled> tight = compile(text.c_str(), true, total - static_cast<int64_t>(device.arena_bytes) / 3);
  ASSERT_TRUE(tight);
  const plan::Graph& graph = free->graph("forward_backward");
  EXPECT_LE(tight->graph("forward_backward").arena_bytes, device.arena_bytes - device.arena_bytes / 3);
  Session a(*free, 1, 64), b(*tight, 1, 64);
  a.run("forward_backward");
  core::Executor executor = b.executor("forward_backward");
  EXPECT_TRUE(executor.run_items(64, 0, tight->graph("forward_backward").backward_item).ok());
  EXPECT_EQ(a.result("forward_backward", plan::OutputKind::output, "y"), b.result("forward_backward", plan::OutputKind::output, "y"));
  EXPECT_TRUE(executor.run_items(64, tight->graph("forward_backward").backward_item, executor.top_level_items()).ok());
  for (const plan::Binding& binding : free->view.outputs(graph)) {
    std::string name = free->view.text(binding.name);
    EXPECT_EQ(a.result("forward_backward", binding.kind, name), b.result("forward_backward", binding.kind, name)) << name;
  }
}

// A model without a loss: backward starts from gradients that are given, which forward does not read.
constexpr const char* kNoLoss = R"(module @m {
  %x = mx.input "x" {mx.gradient} : tensor<6x4xf32, #mx.enc<batch = 0>>
  %w = mx.parameter "w" {init = "xavier"} : tensor<3x4xf32>
  %d = mx.dense %x, %w {units = 3 : i64} : (tensor<6x4xf32, #mx.enc<batch = 0>>, tensor<3x4xf32>) -> tensor<*xf32>
  %t = mx.tanh %d : (tensor<*xf32>) -> tensor<*xf32>
  %i = mx.argmax %t {axis = 1 : i64} : (tensor<*xf32>) -> tensor<*xi32>
  mx.output "t", %t : tensor<*xf32>
  mx.output "d", %d : tensor<*xf32>
  mx.output "choice", %i : tensor<*xi32>
  mx.optimizer "sgd" {lr = 0.1}
})";

// Where an element lies in a buffer, in elements.
int64_t placeOf(const plan::Buffer& buffer, const std::vector<int64_t>& index) {
  int64_t offset = 0, stride = buffer.block_axis >= 0 ? buffer.block : 1;
  for (int i = buffer.rank - 1; i >= 0; --i) {
    int axis = buffer.order[i];
    bool blocked = axis == buffer.block_axis;
    offset += (blocked ? index[axis] / buffer.block : index[axis]) * stride + (blocked ? index[axis] % buffer.block : 0);
    stride *= blocked ? (buffer.dims[axis] + buffer.block - 1) / buffer.block : buffer.dims[axis];
  }
  return offset;
}

TEST(ForwardBackward, StartsFromHeadGradientsWithoutALoss) {
  std::unique_ptr<Compiled> compiled = compile(kNoLoss, true);
  ASSERT_TRUE(compiled);
  const core::PlanView& view = compiled->view;
  EXPECT_EQ(view.find_graph("train"), plan::kNone);
  EXPECT_EQ(view.find_graph("eval"), plan::kNone);
  const plan::Graph& graph = compiled->graph("forward_backward");
  EXPECT_EQ(view.find_input(graph, "choice.head_gradient"), plan::kNone);
  Session session(*compiled, 1, 5);
  core::Executor executor = session.executor("forward_backward");
  for (const char* name : {"t.head_gradient", "d.head_gradient"})
    EXPECT_GE(executor.use(view.find_buffer(name)).first_read, graph.backward_item) << name;
  auto numbers = [&](const std::string& bytes) {
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  };
  session.run("forward_backward");
  std::vector<float> x = numbers(session.bytes(session.buffer("x"))), w = numbers(session.bytes(session.buffer("w"))),
                     ht = numbers(session.bytes(session.buffer("t.head_gradient"))), hd = numbers(session.bytes(session.buffer("d.head_gradient"))),
                     dw = numbers(session.result("forward_backward", plan::OutputKind::gradient, "w")),
                     dx = numbers(session.result("forward_backward", plan::OutputKind::gradient, "x"));
  ASSERT_EQ(dx.size(), 20u);
  ASSERT_GE(dw.size(), 12u);
  auto at = [&](const std::vector<float>& matrix, int u, int k) { return matrix[placeOf(session.buffer("w"), {u, k})]; };
  std::vector<double> wantX(20), wantW(12);
  for (int s = 0; s < 5; ++s)
    for (int u = 0; u < 3; ++u) {
      double d = 0;
      for (int k = 0; k < 4; ++k) d += double{x[s * 4 + k]} * at(w, u, k);
      double t = std::tanh(d), g = ht[s * 3 + u] * (1 - t * t) + hd[s * 3 + u];
      for (int k = 0; k < 4; ++k) wantX[s * 4 + k] += g * at(w, u, k), wantW[u * 4 + k] += g * x[s * 4 + k];
    }
  for (int i = 0; i < 20; ++i) EXPECT_NEAR(dx[i], wantX[i], 1e-5) << i;
  for (int i = 0; i < 12; ++i) EXPECT_NEAR(at(dw, i / 4, i % 4), wantW[i], 1e-5) << i;
}

}  // namespace
}  // namespace mxc
