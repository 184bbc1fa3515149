// mxc simulate: training steps of a job of many machines, on a model of their network.
#include <CLI/CLI.hpp>

#include "driver/command_line.h"
#include "driver/simulate.h"
#include "driver/verbs.h"

namespace mxc::driver {

void addSimulateVerb(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand("simulate", "Tell how fast a compiled program would train on many machines: mxc simulate ./program --compute 320ms");
  auto options = std::make_shared<SimulateOptions>();
  auto color = std::make_shared<Color>(Color::automatic);
  verb->add_option("program", options->program, "A trainer made by mxc compile")->type_name("FILE")->required();
  verb->add_option("--compute", options->compute, "How long a machine computes for the gradients of a shard: 320ms")->type_name("TIME")->required();
  verb->add_option("--workers", options->workers, "Numbers of workers, a row of the table each: 1,2,4")
      ->type_name("NUMBERS")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024).description(""))
      ->default_str("1,2,4,8");
  verb->add_option("--shards", options->shards, "Shards of each worker")->type_name("NUMBER")->check(CLI::Range(1, 1 << 16).description(""))->capture_default_str();
  verb->add_option("--servers", options->servers, "How many of the machines hold values and update them, at most (default: all)")
      ->type_name("NUMBER")
      ->check(CLI::Range(1, 1024).description(""));
  verb->add_option("--bandwidth", options->bandwidth, "Of a machine's link, in each direction")->type_name("RATE")->capture_default_str();
  verb->add_option("--latency", options->latency, "From a machine to another")->type_name("TIME")->capture_default_str();
  verb->add_option("--mtu", options->mtu, "Bytes of a packet of the network")->type_name("BYTES")->check(CLI::Range(576, 65535).description(""))->capture_default_str();
  verb->add_option("--processing", options->processing, "Bytes a second at which a machine takes in and adds up what it is sent")->type_name("RATE")->capture_default_str();
  verb->add_option("--kvstore", options->kvstore, "dist_sync, dist_bounded:s or dist_async")->type_name("KIND")->capture_default_str();
  verb->add_option("--compress", options->compress, "What is pushed, as the program's --compress does: fp16, bf16, 2bit or topk:PART")->type_name("METHOD");
  verb->add_option("--steps", options->steps, "Training steps that are simulated; the first two are not measured")
      ->type_name("NUMBER")
      ->check(CLI::Range(3, 1000).description(""))
      ->capture_default_str();
  verb->add_flag("--json", options->json, "A line of JSON for each number of workers; times in seconds");
  addColor(*verb, *color);
  verb->callback([options, color, &exit_code] {
    DiagnosticPrinter printer(*color);
    simulate(*options, printer);
    exit_code = printer.exitCode();
  });
}

}  // namespace mxc::driver
