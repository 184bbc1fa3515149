// mxc inspect: the Plans inside a compiled program, object or library: one, or one of each model if the program has a main of its own.
#include <CLI/CLI.hpp>
#include <map>

#include "driver/command_line.h"
#include "driver/diagnostics.h"
#include "driver/find_plans.h"
#include "driver/library_summary.h"
#include "driver/plan_text.h"
#include "driver/verbs.h"
#include "llvm/Support/raw_ostream.h"

namespace mxc::driver {

namespace {

// One Plan as it is, several as a list.
std::string jsonOf(const std::vector<AlignedPlan>& plans) {
  std::string text;
  for (const AlignedPlan& plan : plans) text += (text.empty() ? "" : ",\n") + planJson(plan.view());
  return plans.size() == 1 ? text : "[\n" + text + "]\n";
}

// The summaries of the libraries among them, by model; then each Plan.
std::string textOf(const std::vector<AlignedPlan>& plans, const PlanTextOptions& options) {
  std::string text;
  std::map<std::string, std::vector<core::PlanView>> libraries;
  for (const AlignedPlan& plan : plans)
    if (isOfLibrary(plan.view())) libraries[plan.view().find_fact("model")].push_back(plan.view());
  for (const auto& [model, views] : libraries) text += (text.empty() ? "" : "\n") + librarySummary(views);
  for (const AlignedPlan& plan : plans) text += (text.empty() ? "" : "\n\n") + planText(plan.view(), options);
  return text;
}

struct InspectOptions {
  std::string path;
  bool json = false;
  Color color = Color::automatic;
  PlanTextOptions text{.steps = false, .buffers = false};
};

void inspect(const InspectOptions& options, DiagnosticPrinter& printer) {
  const std::vector<AlignedPlan> plans = readPlans(options.path, printer);
  if (plans.empty()) return;
  llvm::outs() << (options.json ? jsonOf(plans) : textOf(plans, options.text));
}

}  // namespace

void addInspectVerb(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* verb = app.add_subcommand("inspect", "Show the models, graphs and memory of a compiled program");
  verb->add_option("program", options->path, "A program, object or library made by mxc compile")->type_name("FILE")->required();
  verb->add_flag("--json", options->json, "Everything, as JSON; of several models a list");
  verb->add_flag("--steps", options->text.steps, "Every step with its arguments");
  verb->add_flag("--buffers", options->text.buffers, "Every buffer with its place in memory");
  addColor(*verb, options->color);
  verb->callback([options, &exit_code] {
    DiagnosticPrinter printer(options->color);
    inspect(*options, printer);
    exit_code = printer.exitCode();
  });
}

}  // namespace mxc::driver
