// mxc compile.
#include <CLI/CLI.hpp>

#include "driver/compile_flags.h"
#include "driver/verbs.h"

namespace mxc::driver {

void addCompileVerb(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand("compile", "Compile a model into a program");
  auto flags = std::make_shared<CompileFlags>(*verb);
  flags->addOutputs(*verb);
  verb->callback([flags, &exit_code] {
    DiagnosticPrinter printer(flags->color);
    if (flags->check(printer)) compile(flags->options, printer);
    exit_code = printer.exitCode();
  });
}

}  // namespace mxc::driver
