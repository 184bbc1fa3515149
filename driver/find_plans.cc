// See find_plans.h.
#include "driver/find_plans.h"

#include <algorithm>
#include <cstring>

#include "driver/files.h"
#include "llvm/ADT/StringRef.h"

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

}  // namespace

std::vector<AlignedPlan> findPlans(std::string_view bytes) {
  llvm::StringRef file(bytes);
  uint32_t magic = plan::kMagic;
  llvm::StringRef mark(reinterpret_cast<const char*>(&magic), sizeof magic);
  std::vector<AlignedPlan> plans;
  for (size_t at = file.find(mark); at != llvm::StringRef::npos; at = file.find(mark, at + 1))
    if (AlignedPlan plan = planAt(file, at); plan.status().ok()) plans.push_back(std::move(plan));
  auto name = [](const AlignedPlan& plan) { return llvm::StringRef(plan.view().find_fact("model") ? plan.view().find_fact("model") : ""); };
  std::stable_sort(plans.begin(), plans.end(), [&](const AlignedPlan& a, const AlignedPlan& b) { return name(a) < name(b); });
  return plans;
}

std::vector<AlignedPlan> readPlans(const std::string& path, DiagnosticPrinter& printer) {
  frontend::Diagnostic diagnostic;
  diagnostic.place.file = path;
  auto file = readWholeFile(path);
  if (!file) {
    diagnostic.message = llvm::toString(file.takeError());
    return printer.print(diagnostic), std::vector<AlignedPlan>();
  }
  std::vector<AlignedPlan> plans = findPlans(*file);
  diagnostic.message = "there is no program compiled by this version of mxc in this file";
  if (plans.empty()) printer.print(diagnostic);
  return plans;
}

}  // namespace mxc::driver
