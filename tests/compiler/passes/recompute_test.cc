// Recomputation on a chain of n layers whose values are all of one size: how much memory for how much work.
#include <cmath>

#include "gtest/gtest.h"
#include "ir/mx.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "passes/pipeline.h"

namespace mxc {
namespace {

using namespace mlir;

constexpr int kLayers = 64;
constexpr int64_t kValue = 4096 * 16 * 4;  // bytes of what each layer makes

std::string chain() {
  std::string text = "!t = tensor<4096x16xf32, #mx.enc<batch = 0>>\nmodule @chain {\n  %h0 = mx.input \"x\" : !t\n";
  for (int i = 0; i < kLayers; ++i) {
    std::string n = std::to_string(i), next = std::to_string(i + 1);
    text += "  %w" + n + " = mx.parameter \"w" + n + "\" {init = \"xavier\"} : tensor<16x16xf32>\n";
    text += "  %d" + n + " = mx.dense %h" + n + ", %w" + n + " {units = 16 : i64} : (!t, tensor<16x16xf32>) -> !t\n";
    text += "  %h" + next + " = mx.tanh %d" + n + " : (!t) -> !t\n";
  }
  return text + "  mx.minimize %h" + std::to_string(kLayers) + " : !t\n  mx.optimizer \"sgd\" {lr = 0.1}\n}\n";
}

struct Planned {
  std::string error;
  int64_t arena = 0;  // bytes of training
  size_t kernels = 0;
};

Planned plan(int64_t limit) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<mx::MxDialect, func::FuncDialect>();
  Planned planned;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic& diagnostic) { planned.error = diagnostic.str(); });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(chain(), &context);
  PipelineOptions options;
  options.memoryLimit = limit;
  if (failed(runPipeline(*module, options))) return planned;
  auto train = module->lookupSymbol<func::FuncOp>("train");
  planned.arena = train->getAttrOfType<IntegerAttr>("mx.arena_bytes").getInt();
  train.walk([&](mx::KernelOp) { ++planned.kernels; });
  return planned;
}

TEST(Recompute, KeepsAboutTwiceTheRootOfTheChainAtOneMoreForwardAtMost) {
  const Planned all = plan(0);
  ASSERT_EQ(all.error, "");
  EXPECT_GE(all.arena, kLayers * kValue);
  const Planned least = plan((2 * static_cast<int64_t>(std::sqrt(kLayers)) + 8) * kValue);
  ASSERT_EQ(least.error, "");
  EXPECT_LT(least.arena, (2 * std::sqrt(kLayers) + 4) * kValue);
  EXPECT_GT(least.kernels, all.kernels);
  EXPECT_LE(least.kernels, all.kernels + kLayers);
}

TEST(Recompute, DoesNoMoreThanTheLimitAsksFor) {
  const Planned all = plan(0), none = plan(int64_t{1} << 40), little = plan(all.arena + kValue / 2), least = plan(20 * kValue);
  EXPECT_EQ(none.kernels, all.kernels);
  EXPECT_EQ(none.arena, all.arena);
  ASSERT_EQ(little.error + least.error, "");
  EXPECT_LT(little.kernels, least.kernels);
}

TEST(Recompute, SaysHowMuchIsMissing) {
  const std::string error = plan(3 * kValue).error;
  EXPECT_NE(error.find("the memory limit of " + std::to_string(3 * kValue) + " bytes is "), std::string::npos) << error;
  EXPECT_NE(error.find(" bytes too small: train needs an arena of "), std::string::npos) << error;
}

}  // namespace
}  // namespace mxc
