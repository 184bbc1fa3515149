// mxc-opt: reads a module of the mx dialect as text, runs passes, and prints it. For tests.
//
//   mxc-opt [--pass=NAME,NAME...] [--lanes=N] [--memory-plan=naive|inplace|coshare|both] [--memory-limit=BYTES] [--disable=NAME,...] [--own-main] [--by-shards] [--library]
//   [--train[=PARAMETER,...]] [--small-stack] [FILE]
//
// Without --pass the module is only read, verified and printed; `--pass=all` runs the pipeline. FILE defaults to standard input.
#include <string>

#include "ir/mx.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "passes/pipeline.h"

using namespace mlir;

namespace {

struct Command {
  mxc::PipelineOptions options;
  std::vector<std::string> passes;
  std::string file = "-";
};

std::vector<std::string> split(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',', -1, false);
  return {parts.begin(), parts.end()};
}

bool parse(int argc, char** argv, Command& command) {
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef argument = argv[i];
    if (argument.consume_front("--pass=")) {
      command.passes = split(argument);
    } else if (argument.consume_front("--disable=")) {
      command.options.disabled = split(argument);
    } else if (argument.consume_front("--lanes=")) {
      if (argument.getAsInteger(10, command.options.lanes)) return false;
    } else if (argument.consume_front("--memory-limit=")) {
      if (argument.getAsInteger(10, command.options.memoryLimit)) return false;
    } else if (argument.consume_front("--memory-plan=")) {
      auto plan = mxc::findMemoryPlan(argument);
      if (!plan) return false;
      command.options.memoryPlan = *plan;
    } else if (argument == "--library") {
      command.options.library = true;
    } else if (argument == "--train") {
      command.options.libraryTrains = true;
    } else if (argument.consume_front("--train=")) {
      command.options.libraryTrains = true;
      command.options.trained = split(argument);
    } else if (argument == "--small-stack") {
      command.options.smallStack = true;
    } else if (argument == "--by-shards") {
      command.options.byShards = true;
    } else if (argument == "--own-main") {
      command.options.ownMain = true;
    } else if (argument == "--print-after-all") {
      command.options.printAfterAll = true;
    } else if (argument.starts_with("--")) {
      return false;
    } else {
      command.file = argument.str();
    }
  }
  command.options.log = &llvm::errs();
  return true;
}

LogicalResult runPasses(const Command& command, ModuleOp module) {
  if (command.passes.size() == 1 && command.passes[0] == "all") return mxc::runPipeline(module, command.options);
  for (const std::string& name : command.passes) {
    const mxc::PassEntry* pass = mxc::findPass(name);
    if (!pass) return module.emitError() << "no pass is called '" << name << "'";
    if (failed(mxc::runPass(*pass, module, command.options))) return failure();
  }
  return verify(module);
}

}  // namespace

int main(int argc, char** argv) {
  Command command;
  if (!parse(argc, argv, command)) {
    llvm::errs() << "usage: mxc-opt [--pass=NAME,...|all] [--lanes=N] [--memory-plan=MODE] [--disable=NAME,...] [--own-main] [--by-shards] [--library] [--train[=PARAMETER,...]] [--small-stack] [FILE]\n";
    return 2;
  }
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(command.file);
  if (!buffer) {
    llvm::errs() << command.file << ": " << buffer.getError().message() << "\n";
    return 1;
  }
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<func::FuncDialect, mxc::mx::MxDialect>();
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*buffer), {});
  SourceMgrDiagnosticHandler diagnostics(sources, &context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module || failed(runPasses(command, *module))) return 1;
  module->print(llvm::outs());
  llvm::outs() << "\n";
  return 0;
}
