// mxc launch: runs a program as several processes that share a KVStore.
#include <CLI/CLI.hpp>

#include "driver/command_line.h"
#include "driver/launch.h"
#include "driver/verbs.h"

namespace mxc::driver {

void addLaunchVerb(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand(
      "launch", "Run a program as several processes on this machine that share a KVStore: mxc launch -n 4 ./program");
  auto options = std::make_shared<LaunchOptions>();
  auto color = std::make_shared<Color>(Color::automatic);
  verb->add_option("-n", options->workers, "How many workers")
      ->type_name("NUMBER")
      ->check(CLI::Range(1, 1024).description(""))
      ->required();
  verb->add_option("--shards", options->shards,
                   "How many shards the job has, if the program does not say: the same number gives the same results with any "
                   "number of workers")
      ->type_name("NUMBER")
      ->check(CLI::Range(1, 1 << 20).description(""));
  addColor(*verb, *color);
  verb->prefix_command();
  verb->callback([options, color, verb, &exit_code] {
    DiagnosticPrinter printer(*color);
    options->command = verb->remaining();
    if (options->command.empty()) printer.error(frontend::Fault::usage, "mxc launch -n NUMBER PROGRAM [ARGUMENTS]: which program?");
    exit_code = printer.failed() ? printer.exitCode() : launch(*options, printer);
  });
}

}  // namespace mxc::driver
