// mxc inspect: the Plan inside a compiled program, object or archive.
//
// A Plan begins with a magic number, its version and its length, and is position independent; so it is found by looking for the
// first place in the file where those make a valid Plan, whatever the container.
#include <CLI/CLI.hpp>
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

AlignedPlan findPlan(llvm::StringRef file) {
  uint32_t magic = plan::kMagic;
  llvm::StringRef bytes(reinterpret_cast<const char*>(&magic), sizeof magic);
  for (size_t at = file.find(bytes); at != llvm::StringRef::npos; at = file.find(bytes, at + 1))
    if (AlignedPlan plan = planAt(file, at); plan.status().ok()) return plan;
  return {};
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
  AlignedPlan plan = findPlan(*file);
  if (!plan.status().ok()) {
    diagnostic.message = "there is no program compiled by this version of mxc in this file";
    return printer.print(diagnostic);
  }
  llvm::outs() << (options.json ? planJson(plan.view()) : planText(plan.view(), options.text));
}

}  // namespace

void addInspectVerb(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* verb = app.add_subcommand("inspect", "Show the model, graphs and memory of a compiled program");
  verb->add_option("program", options->path, "A program, object or archive made by mxc compile")->type_name("FILE")->required();
  verb->add_flag("--json", options->json, "Everything, as JSON");
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
