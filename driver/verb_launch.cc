// mxc launch: runs a program as several processes that share a KVStore.
#include <CLI/CLI.hpp>

#include "absl/strings/str_split.h"
#include "driver/command_line.h"
#include "driver/launch.h"
#include "driver/verbs.h"

namespace mxc::driver {

void addLaunchVerb(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand(
      "launch", "Run a program as several processes that share a KVStore, on this machine or on several: mxc launch -n 4 ./program");
  auto options = std::make_shared<LaunchOptions>();
  auto color = std::make_shared<Color>(Color::automatic);
  verb->add_option("-n", options->workers, "How many workers; with -H as many as there are slots, if it is not given")
      ->type_name("NUMBER")
      ->check(CLI::Range(1, 1024).description(""));
  verb->add_option("-H", options->hosts_file,
                   "The machines to run them on, through ssh, a line each: HOST or HOST slots=N. The program and the current folder have the same "
                   "paths there")
      ->type_name("FILE");
  auto ssh = std::make_shared<std::string>("ssh -o BatchMode=yes");
  verb->add_option("--ssh", *ssh, "What runs a command on a machine of -H: words, behind which its name and the command are put")
      ->type_name("COMMAND")
      ->capture_default_str();
  verb->add_option("--address", options->address, "The address of this machine that those of -H reach, if the way to them does not tell it")->type_name("ADDRESS");
  verb->add_option("--shards", options->shards,
                   "How many shards the job has, if the program does not say: the same number gives the same results with any "
                   "number of workers")
      ->type_name("NUMBER")
      ->check(CLI::Range(1, 1 << 20).description(""));
  verb->add_option("--servers", options->servers,
                   "How many of the processes hold values and update them, if the program does not say (default: all); they are spread evenly over "
                   "the ranks")
      ->type_name("NUMBER")
      ->check(CLI::Range(1, 1024).description(""));
  auto policy = std::make_shared<std::string>("abort");
  verb->add_option("--on-death", *policy,
                   "What becomes of the job when a signal ends a process: abort ends it; wait starts the process again, and the job goes on "
                   "from the last step that is in all values (trainer, dist_sync); shrink goes on from there with the processes that are left")
      ->type_name("abort|wait|shrink")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(kOnDeathNames), std::end(kOnDeathNames))).description(""));
  verb->add_option("--returns", options->returns, "With --on-death=wait or shrink: how often processes are started again, all together; with shrink that is the scheduler alone "
                   "(default: 10)")
      ->type_name("NUMBER")
      ->check(CLI::Range(1, 1 << 20).description(""));
  verb->add_option("--state", options->state_dir,
                   "With --on-death=wait or shrink: the folder in which each process keeps what it has updated (default: a temporary one)")
      ->type_name("FOLDER");
  verb->add_option("--patience", options->patience,
                   "How many seconds a process may do nothing while others wait for it, before the job ends; computing is no standing still. 0: for ever")
      ->type_name("SECONDS")
      ->check(CLI::Range(0, 1'000'000).description(""))
      ->capture_default_str();
  addColor(*verb, *color);
  verb->prefix_command();
  verb->callback([options, ssh, policy, color, verb, &exit_code] {
    DiagnosticPrinter printer(*color);
    options->command = verb->remaining();
    options->ssh = absl::StrSplit(*ssh, ' ', absl::SkipEmpty());
    using OnDeath = LaunchOptions::OnDeath;
    options->on_death = static_cast<OnDeath>(std::find(std::begin(kOnDeathNames), std::end(kOnDeathNames), *policy) - std::begin(kOnDeathNames));
    for (const char* only : {"--returns", "--state"}) {
      if (options->on_death == OnDeath::abort && verb->count(only) > 0)
        printer.error(frontend::Fault::usage, std::string(only) + " goes with --on-death=wait or shrink");
    }
    if (options->on_death == OnDeath::shrink && !options->hosts_file.empty())
      printer.error(frontend::Fault::usage, "--on-death=shrink is for processes of one machine, without -H");
    if (options->on_death == OnDeath::wait && !options->hosts_file.empty() && options->state_dir.empty())
      printer.error(frontend::Fault::usage, "--on-death=wait with -H: --state says in which folder, on each of the machines, processes keep what they have updated");
    if (options->command.empty()) printer.error(frontend::Fault::usage, "mxc launch -n NUMBER PROGRAM [ARGUMENTS]: which program?");
    else if (options->workers == 0 && options->hosts_file.empty()) printer.error(frontend::Fault::usage, "-n is required, or -H FILE");
    else if (options->hosts_file.empty() && !options->address.empty()) printer.error(frontend::Fault::usage, "--address is for machines of -H FILE");
    else if (options->ssh.empty()) printer.error(frontend::Fault::usage, "--ssh: a command is expected");
    exit_code = printer.failed() ? printer.exitCode() : launch(*options, printer);
  });
}

}  // namespace mxc::driver
