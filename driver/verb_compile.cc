// mxc compile.
#include <CLI/CLI.hpp>

#include "driver/compile.h"
#include "driver/verbs.h"

namespace mxc::driver {

void addCompileVerb(CLI::App& app, int& exit_code) {
  struct State {
    CompileOptions options;
    RawCompileOptions raw;
  };
  auto state = std::make_shared<State>();
  CLI::App* verb = app.add_subcommand("compile", "Compile a model into a program");
  addCompileOptions(*verb, state->options, state->raw);
  verb->add_option("-o", state->options.output, "Output; - is standard output")->type_name("FILE");
  verb->add_option("--emit", state->raw.emit, "What to write: graph (symbol JSON), mlir, plan, llvm, asm, obj or exe")
      ->capture_default_str();
  verb->add_option("--memory-rules", state->raw.memory_rules,
                   "paper: print the memory that MXNet's planner would take for this model, op by op, instead of compiling it")
      ->check(CLI::IsMember({"own", "paper"}))
      ->capture_default_str();
  verb->callback([state, &exit_code] {
    DiagnosticPrinter printer;
    if (checkCompileOptions(state->options, state->raw, printer)) compile(state->options, printer);
    exit_code = printer.exitCode();
  });
}

}  // namespace mxc::driver
