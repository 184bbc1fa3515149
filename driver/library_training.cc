// See library_training.h. Texts with {p} and {P} for the library's prefix in small and in large letters.
#include "driver/library_training.h"

#include "driver/c_names.h"
#include "driver/library_fields.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/embed/hypers.h"
#include "runtime/embed/state.h"

namespace mxc::driver {

namespace {

std::string shortest(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.9g", number);
  return text;
}

// "dense1.weight, dense1.bias": as comments go, in lines.
std::string trainedNames(const core::PlanView& view) {
  std::string text, line = " *";
  for (const std::string& parameter : namesOfTrained(view)) {
    std::string name = " " + commentText(parameter);
    if (line.size() + name.size() > 110) text += line + "\n", line = " *";
    line += name;
  }
  return text + line;
}

std::string constants(const HeaderFacts& facts) {
  const embed::PlanRecords records(&facts.plan().header());
  const embed::Persistent parts = embed::persistent(records);
  std::string text = define("STATE_BYTES", std::to_string(embed::state_bytes(records)), "what {p}_save writes");
  text += define("TRAIN_OWN_BYTES", std::to_string(parts.end - parts.own), "of the arena: trained numbers and the optimizer's state");
  text += define("TRAIN_ALL_ARENA_BYTES", std::to_string(facts.all_trained_bytes),
                 "if all layers were trained: the cut saves " + std::to_string(facts.all_trained_bytes - facts.arena_bytes));
  for (const Field& field : trainingFields(facts.plan()).inputs)
    text += define(field.size.substr(4), std::to_string(field.elements), field.by_sample ? "of a sample" : "of all samples");
  return text;
}

// Hyper-parameters with what they are at first.
std::string hypers(const core::PlanView& view) {
  std::string text = "typedef struct {p}_hypers {\n";
  size_t empty = text.size();
  for (const plan::Hyper& hyper : view.hypers()) {
    const char* name = view.text(hyper.name);
    if (embed::is_internal_hyper(name)) continue;
    text += "  double " + cIdentifier(name) + "; /* " + shortest(hyper.default_value) + " at first */\n";
  }
  if (text.size() == empty) text += "  double none; /* the optimizer has none */\n";
  return text + "} {p}_hypers;\n";
}

constexpr const char* kTop = R"(
/* ---- Training. A context that trains has what training changes for himself: these parameters, the layers' and the optimizer's state.
 * Each context begins with the library's weights, and {p}_run computes with its own. Trained are:
)";

constexpr const char* kStep = R"(
/* One step on n samples, 1 <= n <= {P}_BATCH, without allocating anything. Losses and reports are means over them; NULL: not delivered.
 * After an error nothing has changed. */
int {p}_train_step({p}_context* context, const {p}_train_inputs* inputs, const {p}_train_outputs* outputs, int64_t n);
)";

constexpr const char* kStepSet = R"(
/* The same with the set of that number, as {p}_run_set. Steps of all sets train the same numbers. */
int {p}_train_step_set({p}_context* context, int set, const {p}_train_inputs* inputs, const {p}_train_outputs* outputs, int64_t n);
)";

constexpr const char* kFunctions = R"(
/* The context's hyper-parameters: read them, change some, and set them. What cannot be, a negative rate or no number, is refused. */
int {p}_get_hypers(const {p}_context* context, {p}_hypers* hypers);
int {p}_set_hypers({p}_context* context, const {p}_hypers* hypers);

/* What random numbers of training, as dropout's, depend on beside the step; 0 at first. */
int {p}_set_seed({p}_context* context, uint64_t seed);

/* Steps that have been done. */
int {p}_count_steps(const {p}_context* context, int64_t* steps);

/* Writes {P}_STATE_BYTES: all that training has changed, hyper-parameters, seed and the number of steps. */
int {p}_save(const {p}_context* context, void* state, size_t bytes);

/* Goes on from there, bit for bit, in any context of a library of this model with these trained layers and the same other weights. What is
 * anything else is refused and changes nothing. */
int {p}_load({p}_context* context, const void* state, size_t bytes);
)";

constexpr const char* kMembers = R"(
  int get(hypers& values) const { return {p}_get_hypers(context_, &values); }
  int set(const hypers& values) { return {p}_set_hypers(context_, &values); }
  int set_seed(std::uint64_t seed) { return {p}_set_seed(context_, seed); }
  int count_steps(std::int64_t& steps) const { return {p}_count_steps(context_, &steps); }

  // See {p}_save and {p}_load.
  int save(span<unsigned char> state) const { return {p}_save(context_, state.data(), state.size()); }
  int load(span<const unsigned char> state) { return {p}_load(context_, state.data(), state.size()); }
)";

}  // namespace

std::vector<std::string> namesOfTrained(const core::PlanView& view) {
  std::vector<std::string> names;
  for (const plan::Binding& output : view.outputs(view.graph(1)))
    if (output.kind == plan::OutputKind::parameter) names.push_back(view.text(output.name));
  return names;
}

std::string trainingHeader(const HeaderFacts& facts) {
  const core::PlanView& view = facts.plan();
  const Fields fields = trainingFields(view);
  return kTop + trainedNames(view) + " */\n" + constants(facts) + "\n" + structOf("train_inputs", fields.inputs, true) +
         structOf("train_outputs", fields.outputs, false) + hypers(view) + kStep + (facts.sets.size() > 1 ? kStepSet : "") + kFunctions;
}

std::string trainingStructs(const HeaderFacts& facts) {
  const Fields fields = trainingFields(facts.plan());
  return "\n" + spanStructOf("train_inputs", fields.inputs, true) + spanStructOf("train_outputs", fields.outputs, false) +
         "using hypers = {p}_hypers;\n";
}

std::string trainingMembers(const HeaderFacts& facts) {
  return spanCall("train_step", "train_", trainingFields(facts.plan()), "") + spanCallOfSet(facts, "train_step", "train_", trainingFields) + kMembers;
}

}  // namespace mxc::driver
