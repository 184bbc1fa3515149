// mxc run: compiles into a temporary folder and runs the program with the arguments after the model.
#include <CLI/CLI.hpp>

#include "driver/compile_flags.h"
#include "driver/files.h"
#include "driver/verbs.h"
#include "frontend/stage/process.h"

namespace mxc::driver {

namespace {

int run(CompileFlags& flags, const std::vector<std::string>& arguments) {
  DiagnosticPrinter printer(flags.color);
  WorkDirectory work;
  if (!flags.check(printer)) return printer.exitCode();
  if (!work.error().empty()) return printer.error(frontend::Fault::input, work.error()), printer.exitCode();
  flags.options.output = work.file("program");
  compile(flags.options, printer);
  if (printer.failed() || flags.options.show_commands) return printer.exitCode();
  std::vector<std::string> command = {flags.options.output};
  command.insert(command.end(), arguments.begin(), arguments.end());
  frontend::ProcessResult result = frontend::runProcess(command, {.foreground = true});
  if (!result.started) printer.error(frontend::Fault::internal, "cannot run the program: " + result.error);
  if (printer.failed()) return printer.exitCode();
  return result.signal ? 128 + result.signal : result.exit_code;
}

}  // namespace

void addRunVerb(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand("run", "Compile a model and run it: mxc run model.cpp -- train --epochs 3");
  auto flags = std::make_shared<CompileFlags>(*verb);
  verb->prefix_command();
  verb->callback([flags, verb, &exit_code] { exit_code = run(*flags, verb->remaining()); });
}

}  // namespace mxc::driver
