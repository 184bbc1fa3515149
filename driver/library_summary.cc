// See library_summary.h. Facts that only libraries have are written by library.cc.
#include "driver/library_summary.h"

#include <algorithm>

#include "driver/library.h"
#include "driver/library_fields.h"
#include "driver/library_training.h"
#include "llvm/ADT/StringExtras.h"
#include "runtime/embed/context.h"
#include "runtime/embed/state.h"

namespace mxc::driver {

namespace {

std::string factOf(const core::PlanView& plan, const char* key) {
  const char* value = plan.find_fact(key);
  return value ? value : "";
}

std::string row(const std::string& key, const std::string& value) {
  return key + std::string(key.size() < 28 ? 28 - key.size() : 1, ' ') + value + "\n";
}

// "image f32 [n, 1, 28, 28], label i32 [n], from 0 to 9".
std::string tensors(const core::PlanView& plan, std::span<const plan::Binding> bindings, const std::vector<Field>& fields) {
  std::string text;
  for (size_t i = 0; i < fields.size(); ++i)
    text += (i ? "; " : "") + std::string(plan.text(bindings[i].name)) + " " + fields[i].note;
  return text.empty() ? "none" : text;
}

// Of a set of sizes: what runs of it take and give.
std::string setRows(const core::PlanView& plan, const std::string& behind) {
  const Fields fields = inferenceFields(plan);
  const plan::Graph& graph = plan.graph(0);
  return row("samples of a run" + behind, std::to_string(batchOf(plan)) + " at most") +
         row("inputs" + behind, tensors(plan, plan.inputs(graph), fields.inputs)) +
         row("outputs" + behind, tensors(plan, plan.outputs(graph), fields.outputs));
}

std::string trainingRows(const core::PlanView& plan) {
  if (plan.graphs().size() < 2) return "";
  const embed::PlanRecords records(&plan.header());
  return row("trains", llvm::join(namesOfTrained(plan), ", ")) +
         row("state of training", std::to_string(embed::state_bytes(records)) + " bytes");
}

}  // namespace

bool isOfLibrary(const core::PlanView& plan) { return plan.find_fact("weights") != nullptr; }

std::string librarySummary(const std::vector<core::PlanView>& plans) {
  const core::PlanView& first = plans[0];
  std::vector<core::PlanView> sets;  // for the first processor
  std::vector<std::string> targets;
  for (const core::PlanView& plan : plans) {
    if (factOf(plan, "target") == factOf(first, "target")) sets.push_back(plan);
    if (std::find(targets.begin(), targets.end(), factOf(plan, "target")) == targets.end())
      targets.push_back(factOf(plan, "target"));
  }
  const bool beside = factOf(first, "weights") == "file";
  std::string text = row("library of the model", factOf(first, "model") + ", from " + factOf(first, "source"));
  for (size_t i = 0; i < sets.size(); ++i) {
    std::string sizes = factOf(sets[i], "sizes");
    text += setRows(sets[i], sets.size() == 1 ? "" : ", set " + std::to_string(i) + (sizes.empty() ? "" : " (" + sizes + ")"));
  }
  text += row("memory of a context", std::to_string(contextBytes(sets)) + " bytes, aligned to " + std::to_string(plan::kAlign));
  text += row("weights", std::to_string(embed::persistent(embed::PlanRecords(&first.header())).fresh) + " bytes, " +
                             (beside ? "in a file beside it" : "within"));
  text += trainingRows(first) + row("targets", llvm::join(targets, "; ")) + row("flags", factOf(first, "flags"));
  text += row("versions", factOf(first, "compiler") + ", Plan " + std::to_string(plan::kVersion));
  text += row("hash of the parameters", factOf(first, "hash"));
  return text + row("build", "0x" + llvm::utohexstr(buildNumber(sets, beside)));
}

}  // namespace mxc::driver
