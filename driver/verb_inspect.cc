// mxc inspect: the Plans inside a compiled program, object or archive: one, or one of each model if the program has a main of its own.
//
// A Plan begins with a magic number, its version and its length, and is position independent; so it is found by looking for
// places in the file where those make a valid Plan, whatever the container.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>

#include "driver/aligned_plan.h"
#include "driver/command_line.h"
#include "driver/diagnostics.h"
#include "driver/files.h"
#include "driver/plan_text.h"
#include "driver/verbs.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace mxc::driver {

namespace {

// The Plan that begins at `at`; invalid if there is none.
AlignedPlan planAt(llvm::StringRef file, size_t at) {
  plan::Header header;
  if (file.size() - at < sizeof header) return {};
  std::memcpy(&header, file.data() + at, sizeof header);
  if (header.version != plan::kVersion || header.bytes < sizeof header || header.bytes > file.size() - at) return {};
  return AlignedPlan(file.substr(at, header.bytes));
}

// All Plans of a file, those of models in the order of their names.
std::vector<AlignedPlan> findPlans(llvm::StringRef file) {
  uint32_t magic = plan::kMagic;
  llvm::StringRef bytes(reinterpret_cast<const char*>(&magic), sizeof magic);
  std::vector<AlignedPlan> plans;
  for (size_t at = file.find(bytes); at != llvm::StringRef::npos; at = file.find(bytes, at + 1))
    if (AlignedPlan plan = planAt(file, at); plan.status().ok()) plans.push_back(std::move(plan));
  auto name = [](const AlignedPlan& plan) { return llvm::StringRef(plan.view().find_fact("model") ? plan.view().find_fact("model") : ""); };
  std::stable_sort(plans.begin(), plans.end(), [&](const AlignedPlan& a, const AlignedPlan& b) { return name(a) < name(b); });
  return plans;
}

// One Plan as it is, several as a list.
std::string jsonOf(const std::vector<AlignedPlan>& plans) {
  std::string text;
  for (const AlignedPlan& plan : plans) text += (text.empty() ? "" : ",\n") + planJson(plan.view());
  return plans.size() == 1 ? text : "[\n" + text + "]\n";
}

std::string textOf(const std::vector<AlignedPlan>& plans, const PlanTextOptions& options) {
  std::string text;
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
  frontend::Diagnostic diagnostic;
  diagnostic.place.file = options.path;
  auto file = readWholeFile(options.path);
  if (!file) {
    diagnostic.message = llvm::toString(file.takeError());
    return printer.print(diagnostic);
  }
  std::vector<AlignedPlan> plans = findPlans(*file);
  if (plans.empty()) {
    diagnostic.message = "there is no program compiled by this version of mxc in this file";
    return printer.print(diagnostic);
  }
  llvm::outs() << (options.json ? jsonOf(plans) : textOf(plans, options.text));
}

}  // namespace

void addInspectVerb(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* verb = app.add_subcommand("inspect", "Show the models, graphs and memory of a compiled program");
  verb->add_option("program", options->path, "A program, object or archive made by mxc compile")->type_name("FILE")->required();
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
