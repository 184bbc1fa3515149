// The map of the compiler: each pass with its reason, in order.
#include "passes/pipeline.h"

#include <chrono>

#include "llvm/Support/Format.h"
#include "mlir/IR/Verifier.h"
#include "passes/passes.h"

using namespace mlir;

namespace mxc {
namespace {

constexpr PassEntry kPasses[] = {
    {"infer-shapes", "the user writes no shapes but those of inputs: errors show here, at his lines", passes::inferShapes,
     passes::inferShapes},
    {"find-unused", "what nobody needs is a slip of the pen or costs memory: it is told and dropped", passes::findUnused, nullptr},
    {"sink", "less is kept for the gradient: relu goes behind max pooling and concat", passes::sink, nullptr},
    {"build-graphs", "training, evaluation and inference are different programs: each gets its own function", passes::buildGraphs,
     passes::buildGraphs},
    {"simplify", "gradients come out verbose: neutral steps, repetitions, results that nobody asked for", passes::simplify,
     nullptr},
    {"layout", "kernels read straight through: each tensor lies as its users want it, parameters for as long as the program runs",
     passes::layout, nullptr},
    {"keep-inference", "an embedded library runs inference, and what it trains itself, with parameters as all of training has them", passes::keepInference, nullptr},
    {"fuse", "elementwise work rides in the loops of its neighbours: values that need not be stored are not", passes::fuse,
     passes::fuseNothing},
    {"schedule", "little memory alive at once; parameters are updated in place, as soon as their old value is no longer read",
     passes::schedule, nullptr},
    {"recompute", "a program that would not fit its memory limit makes values again instead of keeping them", passes::recompute, nullptr},
    {"plan-memory", "static sizes, one arena: every value's place is known before the program starts", passes::planMemory,
     passes::planMemory},
    {"verify-memory", "a wrong plan would corrupt values silently: the schedule is replayed against it", passes::verifyPlan,
     nullptr},
    {"distribute", "gradients leave while backward goes on, and the next step needs some values before others: what goes first is decided here",
     passes::distribute, nullptr},
};

LogicalResult checkDisabled(ModuleOp module, const PipelineOptions& options) {
  for (const std::string& name : options.disabled) {
    const PassEntry* pass = findPass(name);
    if (!pass) return module.emitError() << "no pass is called '" << name << "'";
    if (pass->off == pass->run) return module.emitError() << "pass '" << name << "' cannot be switched off";
  }
  return success();
}

constexpr std::pair<MemoryPlan, const char*> kMemoryPlans[] = {
    {MemoryPlan::naive, "naive"}, {MemoryPlan::inplace, "inplace"}, {MemoryPlan::coshare, "coshare"}, {MemoryPlan::both, "both"}};

}  // namespace

const char* memoryPlanName(MemoryPlan plan) {
  for (auto [known, name] : kMemoryPlans)
    if (known == plan) return name;
  return "";
}

std::optional<MemoryPlan> findMemoryPlan(StringRef name) {
  for (auto [plan, known] : kMemoryPlans)
    if (name == known) return plan;
  return std::nullopt;
}

ArrayRef<PassEntry> allPasses() { return kPasses; }

const PassEntry* findPass(StringRef name) {
  for (const PassEntry& pass : kPasses)
    if (name == pass.name) return &pass;
  return nullptr;
}

LogicalResult runPass(const PassEntry& pass, ModuleOp module, const PipelineOptions& options) {
  PassFn fn = llvm::is_contained(options.disabled, pass.name) ? pass.off : pass.run;
  if (!fn) return success();
  auto start = std::chrono::steady_clock::now();
  if (failed(fn(module, options))) return failure();
  std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  if (options.timePasses) *options.log << llvm::format("%9.2f ms  ", time.count()) << pass.name << "\n";
  if (options.printAfterAll) *options.log << "// after " << pass.name << "\n" << module << "\n";
  if (failed(verify(module))) {
    module.emitError() << "internal: the pass '" << pass.name << "' made this";
    return failure();
  }
  return success();
}

LogicalResult runPipeline(ModuleOp module, const PipelineOptions& options) {
  if (failed(checkDisabled(module, options))) return failure();
  for (const PassEntry& pass : kPasses)
    if (failed(runPass(pass, module, options))) return failure();
  return success();
}

}  // namespace mxc
