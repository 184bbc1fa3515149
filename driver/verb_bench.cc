// mxc bench: compiles into a temporary folder and measures the training step.
#include <CLI/CLI.hpp>

#include "driver/bench.h"
#include "driver/compile_flags.h"
#include "driver/verbs.h"

namespace mxc::driver {

void addBenchVerb(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand("bench", "Compile a model and measure its training step on generated data, kernel by kernel");
  auto flags = std::make_shared<CompileFlags>(*verb);
  auto options = std::make_shared<BenchOptions>();
  const auto number = [&](const char* name, int64_t& value, int64_t least, const char* what) {
    verb->add_option(name, value, what)->type_name("NUMBER")->check(CLI::Range(least, int64_t{1} << 20).description(""));
  };
  number("--steps", options->steps, 1, "Training steps that are measured (default: 30)");
  number("--warmup", options->warmup, 0, "Training steps before those (default: 5)");
  number("--threads", options->threads, 1, "Threads to compute with (default: one per CPU)");
  number("--kernels", options->kernels, 0, "How many kernels are shown, those that take longest (default: 20); 0: all");
  verb->add_flag("--json", options->json, "One line of JSON; times in seconds");
  verb->callback([flags, options, &exit_code] {
    DiagnosticPrinter printer(flags->color);
    if (flags->check(printer)) bench(flags->options, *options, printer);
    exit_code = printer.exitCode();
  });
}

}  // namespace mxc::driver
