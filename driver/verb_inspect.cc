// mxc inspect: the Plan inside a compiled program, object or archive.
//
// A Plan begins with a magic number, its version and its length, and is position independent; so it is found by looking for the
// first place in the file where those make a valid Plan, whatever the container.
#include <CLI/CLI.hpp>
#include <cstring>

#include "driver/diagnostics.h"
#include "driver/files.h"
#include "driver/plan_text.h"
#include "driver/verbs.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace mxc::driver {

namespace {

// Copies the Plan at `at` to aligned storage. Empty if there is none.
std::vector<uint64_t> planAt(llvm::StringRef file, size_t at) {
  plan::Header header;
  if (file.size() - at < sizeof header) return {};
  std::memcpy(&header, file.data() + at, sizeof header);
  if (header.version != plan::kVersion || header.bytes < sizeof header || header.bytes > file.size() - at) return {};
  std::vector<uint64_t> storage(header.bytes / 8 + 1 + plan::kAlign / 8);
  auto start = reinterpret_cast<uintptr_t>(storage.data());
  size_t skip = (plan::kAlign - start % plan::kAlign) % plan::kAlign / 8;
  std::memcpy(storage.data() + skip, file.data() + at, header.bytes);
  core::PlanView view;
  if (!core::PlanView::open(storage.data() + skip, header.bytes, &view).ok()) return {};
  return storage;
}

core::PlanView viewOf(const std::vector<uint64_t>& storage) {
  auto start = reinterpret_cast<uintptr_t>(storage.data());
  const uint64_t* blob = storage.data() + (plan::kAlign - start % plan::kAlign) % plan::kAlign / 8;
  plan::Header header;
  std::memcpy(&header, blob, sizeof header);
  core::PlanView view;
  bool valid = core::PlanView::open(blob, header.bytes, &view).ok();
  assert(valid && "checked by planAt");
  (void)valid;
  return view;
}

std::vector<uint64_t> findPlan(llvm::StringRef file) {
  uint32_t magic = plan::kMagic;
  llvm::StringRef bytes(reinterpret_cast<const char*>(&magic), sizeof magic);
  for (size_t at = file.find(bytes); at != llvm::StringRef::npos; at = file.find(bytes, at + 1))
    if (auto storage = planAt(file, at); !storage.empty()) return storage;
  return {};
}

struct InspectOptions {
  std::string path;
  bool json = false;
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
  std::vector<uint64_t> storage = findPlan(*file);
  if (storage.empty()) {
    diagnostic.message = "there is no program compiled by this version of mxc in this file";
    return printer.print(diagnostic);
  }
  core::PlanView plan = viewOf(storage);
  llvm::outs() << (options.json ? planJson(plan) : planText(plan, options.text));
}

}  // namespace

void addInspectVerb(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* verb = app.add_subcommand("inspect", "Show the model, graphs and memory of a compiled program");
  verb->add_option("program", options->path, "A program, object or archive made by mxc compile")->required();
  verb->add_flag("--json", options->json, "Everything, as JSON");
  verb->add_flag("--steps", options->text.steps, "Every step with its arguments");
  verb->add_flag("--buffers", options->text.buffers, "Every buffer with its place in memory");
  verb->callback([options, &exit_code] {
    DiagnosticPrinter printer;
    inspect(*options, printer);
    exit_code = printer.exitCode();
  });
}

}  // namespace mxc::driver
