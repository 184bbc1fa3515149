// The verbs of mxc. Each adds its subcommand to `app`; when it is chosen, it sets `exit_code`.
#pragma once

namespace CLI {
class App;
}

namespace mxc::driver {

void addCompileVerb(CLI::App& app, int& exit_code);
void addRunVerb(CLI::App& app, int& exit_code);
void addBenchVerb(CLI::App& app, int& exit_code);
void addInspectVerb(CLI::App& app, int& exit_code);
void addKeygenVerb(CLI::App& app, int& exit_code);
void addLaunchVerb(CLI::App& app, int& exit_code);
void addVerifyVerb(CLI::App& app, int& exit_code);
void addOpsVerb(CLI::App& app, int& exit_code);
void addSimulateVerb(CLI::App& app, int& exit_code);

}  // namespace mxc::driver
