// mxc: the command. Verbs are in verb_<name>.cc. Exit codes: 0; 1 the user's input is wrong; 2 wrong command line; 3 something
// unsupported, named; 70 internal error.
#include <CLI/CLI.hpp>
#include <iostream>

#include "driver/command_line.h"
#include "driver/crash.h"
#include "driver/diagnostics.h"
#include "driver/documentation.h"
#include "driver/interrupt.h"
#include "driver/verbs.h"
#include "llvm/Support/raw_ostream.h"

namespace {

// `code`, unless what the user asked to see did not arrive whole.
int finish(int code) {
  using namespace mxc::driver;
  std::cout.flush();
  llvm::outs().flush();
  bool whole = std::cout.good() && !llvm::outs().has_error();
  llvm::outs().clear_error();  // its destructor would end the process
  if (whole || code != kSuccess) return code;
  DiagnosticPrinter().error(mxc::frontend::Fault::input, "cannot write to standard output");
  return kInputWrong;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace mxc::driver;
  installCrashHandler();
  installInterruptHandler();
  int exit_code = kSuccess;
  CLI::App app("mxc compiles models written in C++ into native programs that train and predict.", "mxc");
  styleHelp(app);
  app.require_subcommand(1);
  app.set_version_flag("--version", "mxc " MXC_VERSION " (LLVM " MXC_LLVM ")");
  addDocumentation(app);
  addCompileVerb(app, exit_code);
  addRunVerb(app, exit_code);
  addBenchVerb(app, exit_code);
  addLaunchVerb(app, exit_code);
  addKeygenVerb(app, exit_code);
  addInspectVerb(app, exit_code);
  addVerifyVerb(app, exit_code);
  addSimulateVerb(app, exit_code);
  addOpsVerb(app, exit_code);
  std::string error;
  std::vector<std::string> arguments = readArguments(argc, argv, error);
  if (!error.empty()) return DiagnosticPrinter().error(mxc::frontend::Fault::usage, error), kUsageWrong;
  int wrong = parseCommandLine(app, std::move(arguments));
  return finish(wrong >= 0 ? wrong : exit_code);
}
