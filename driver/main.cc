// mxc: the command. Verbs are in verb_<name>.cc. Exit codes: 0; 1 the user's input is wrong; 2 wrong command line; 3 something
// unsupported, named; 70 internal error.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "driver/crash.h"
#include "driver/diagnostics.h"
#include "driver/verbs.h"

int main(int argc, char** argv) {
  mxc::driver::installCrashHandler();
  int exit_code = mxc::driver::kSuccess;
  CLI::App app("mxc compiles models written in C++ into native programs that train and predict.", "mxc");
  app.require_subcommand(1);
  app.set_version_flag("--version", "mxc " MXC_VERSION " (LLVM " MXC_LLVM ")");
  app.failure_message([](const CLI::App*, const CLI::Error& error) { return "mxc: error: " + std::string(error.what()) + "\n"; });
  mxc::driver::addCompileVerb(app, exit_code);
  mxc::driver::addRunVerb(app, exit_code);
  mxc::driver::addInspectVerb(app, exit_code);
  mxc::driver::addOpsVerb(app, exit_code);
  try {
    // What follows a program's own verb is the program's (CLI11's prefix command); a "--" before it is allowed and says nothing more.
    std::vector<std::string> arguments(argv + 1, argv + argc);
    if (!arguments.empty() && arguments.front() == "run")
      if (auto separator = std::find(arguments.begin(), arguments.end(), "--"); separator != arguments.end())
        arguments.erase(separator);
    std::reverse(arguments.begin(), arguments.end());
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? mxc::driver::kSuccess : mxc::driver::kUsageWrong;
  }
  return exit_code;
}
