// mxc run: compiles into a temporary folder and runs the program with the arguments after the model.
#include <CLI/CLI.hpp>

#include "driver/compile.h"
#include "driver/files.h"
#include "driver/verbs.h"
#include "frontend/stage/process.h"

namespace mxc::driver {

namespace {

int run(CompileOptions options, const RawCompileOptions& raw, const std::vector<std::string>& arguments) {
  DiagnosticPrinter printer;
  WorkDirectory work;
  if (!checkCompileOptions(options, raw, printer)) return printer.exitCode();
  if (!work.error().empty()) return printer.error(frontend::Fault::input, work.error()), printer.exitCode();
  options.output = work.file("program");
  compile(options, printer);
  if (printer.failed()) return printer.exitCode();
  std::vector<std::string> command = {options.output};
  command.insert(command.end(), arguments.begin(), arguments.end());
  frontend::ProcessResult result = frontend::runProcess(command, {});
  if (!result.started) printer.error(frontend::Fault::internal, "cannot run the program: " + result.error);
  if (printer.failed()) return printer.exitCode();
  return result.signal ? 128 + result.signal : result.exit_code;
}

}  // namespace

void addRunVerb(CLI::App& app, int& exit_code) {
  struct State {
    CompileOptions options;
    RawCompileOptions raw;
  };
  auto state = std::make_shared<State>();
  CLI::App* verb = app.add_subcommand("run", "Compile a model and run it: mxc run model.cpp -- train --epochs 3");
  addCompileOptions(*verb, state->options, state->raw);
  verb->prefix_command();
  verb->callback([state, verb, &exit_code] { exit_code = run(state->options, state->raw, verb->remaining()); });
}

}  // namespace mxc::driver
