// Texts with {p} and {P} for the library's prefix in small and in large letters; the rest comes out of the Plan.
#include "driver/library_header.h"

#include <algorithm>
#include <vector>

#include "driver/c_names.h"
#include "driver/library_fields.h"
#include "driver/library_training.h"
#include "llvm/ADT/StringExtras.h"
#include "runtime/embed/context.h"

namespace mxc::driver {

namespace {

// How many elements of fields, in names that end with `behind`.
std::string sizes(const std::vector<Field>& fields, const std::string& behind) {
  std::string text;
  for (const Field& field : fields)
    text += define(field.size.substr(4) + behind, std::to_string(field.elements), field.by_sample ? "of a sample" : "of all samples");
  return text;
}

std::string constants(const Fields& fields, const HeaderFacts& facts) {
  std::string text = define("BUILD", "UINT64_C(0x" + llvm::utohexstr(facts.build) + ")", "which build of the library this header belongs to");
  text += define("BATCH", std::to_string(largestBatch(facts)), "the most samples of a run");
  text += define("ALIGN", std::to_string(plan::kAlign), "of an arena, in bytes");
  text += define("ARENA_BYTES", std::to_string(facts.arena_bytes), "all the memory that a context takes");
  text += define("STACK_BYTES", std::to_string(facts.stack_bytes), "of the stack that a call takes at most, beside functions of the C library");
  text += define("WEIGHTS_BYTES", std::to_string(embed::persistent(embed::PlanRecords(&facts.plan().header())).fresh),
                 "shared by all contexts, never written");
  return text + sizes(fields.inputs, "") + sizes(fields.outputs, "");
}

constexpr const char* kSets = R"(
/* The sets of sizes that the library has. {p}_run takes the smallest batch, of those sets that are like the first but for the batch, that the
 * samples fit in; where a batch is not a tensor's first axis, whose rows are as long as it is, that is the first set alone. {p}_run_set takes the
 * set that it is told, and memory has that one's sizes. */
)";

// The sets of sizes by number, and the sizes of each.
std::string setsOf(const HeaderFacts& facts) {
  if (facts.sets.size() == 1) return "";
  std::string text = std::string(kSets) + "enum {\n";
  for (size_t i = 0; i < facts.sets.size(); ++i) {
    std::string note;
    for (const auto& [name, size] : facts.sets[i].dims) note += (note.empty() ? "" : ", ") + name + " " + std::to_string(size);
    text += "  {P}_SET_" + setName(facts.sets[i]) + " = " + std::to_string(i) + (i + 1 < facts.sets.size() ? "," : "") + " /* " + note + " */\n";
  }
  text += "};\n";
  for (const SizeSet& set : facts.sets) {
    std::string behind = "_SET_" + setName(set);
    Fields fields = inferenceFields(set.view);
    text += "\n/* Of the set {P}" + behind + ". */\n" + define("BATCH" + behind, std::to_string(batchOf(set.view)), "the most samples of a run");
    text += sizes(fields.inputs, behind) + sizes(fields.outputs, behind);
    if (facts.trains()) text += sizes(trainingFields(set.view).inputs, behind);
  }
  return text;
}

std::string statuses() {
  std::string text = "enum {\n";
  for (int i = 0; i < embed::kStatusCount; ++i)
    text += std::string("  {P}_") + embed::kStatusNames[i].name + " = " + std::to_string(i) + (i + 1 < embed::kStatusCount ? "," : "") +
            " /* " + embed::kStatusNames[i].text + " */\n";
  return text + "};\n";
}

std::string usage(const Fields& fields) {
  auto designated = [](const std::vector<Field>& list) {
    std::string text;
    for (const Field& field : list) text += (text.empty() ? "." : ", .") + field.name + " = " + field.name;
    return text.empty() ? "0" : text;
  };
  return " *   static char arena[{P}_ARENA_BYTES] __attribute__((aligned({P}_ALIGN)));\n"
         " *   {p}_context* net = {p}_init(arena, sizeof arena);\n"
         " *   int status = {p}_run(net, &({p}_inputs){" + designated(fields.inputs) + "}, &({p}_outputs){" + designated(fields.outputs) + "}, 1);\n";
}

constexpr const char* kContexts = R"(
/* A context is what one user of the library has for himself: one thread at a time runs it. Contexts share the weights. */
typedef struct {p}_context {p}_context;

/* Makes a context at the start of `arena`, which is aligned to {P}_ALIGN and has at least {P}_ARENA_BYTES bytes; there is nothing to end,
 * the memory is the caller's. `build` is {P}_BUILD: a library that this header does not belong to refuses it. After an error `context` is
 * NULL. */
int {p}_open(void* arena, size_t bytes, uint64_t build, {p}_context** context);

/* The same, without saying what went wrong: NULL after an error. */
static inline {p}_context* {p}_init(void* arena, size_t bytes) {
  {p}_context* context;
  return {p}_open(arena, bytes, {P}_BUILD, &context) == {P}_OK ? context : 0;
}
)";

constexpr const char* kHosted = R"(
/* Makes a context in memory of its own, which {p}_destroy gives back. After an error `context` is NULL. */
int {p}_allocate(uint64_t build, {p}_context** context);
static inline {p}_context* {p}_create(void) {
  {p}_context* context;
  return {p}_allocate({P}_BUILD, &context) == {P}_OK ? context : 0;
}

/* Ends a context that {p}_create or {p}_init made. NULL is left alone. */
void {p}_destroy({p}_context* context);
)";

constexpr const char* kRun = R"(
/* Runs the model on n samples, 1 <= n <= {P}_BATCH, without allocating anything. Memory is row-major and aligned as its type; inputs and
 * outputs do not overlap. An output that is NULL is not delivered. After an error no output has been written. */
int {p}_run({p}_context* context, const {p}_inputs* inputs, const {p}_outputs* outputs, int64_t n);

/* One line of text for a status. */
const char* {p}_status_text(int status);

/* The library's own number, to be compared with {P}_BUILD. */
uint64_t {p}_build(void);
)";

constexpr const char* kRunSet = R"(
/* The same with the set of that number, for 1 <= n <= that one's batch; memory has its sizes. {P}_NO_SET: there is none. */
int {p}_run_set({p}_context* context, int set, const {p}_inputs* inputs, const {p}_outputs* outputs, int64_t n);
)";

constexpr const char* kPool = R"(
/* Threads of the caller's that a run may make use of; each function is given `self`. */
typedef struct {p}_pool {
  void* self;
  int (*threads)(void* self); /* that compute together, the one that calls {p}_run among them */
  void (*submit)(void* self, void (*task)(void*), void* argument); /* has some thread run task(argument) */
  void (*wait)(void* self); /* returns when all that was submitted has ended */
} {p}_pool;

/* From now on runs of the context share their work out to the pool, which is copied; NULL: they do not. Results are the same bits. */
int {p}_set_pool({p}_context* context, const {p}_pool* pool);
)";

constexpr const char* kWeights = R"(
/* The weights lie in {file}.weights, not in the library. A context needs them before it runs: the file's bytes, in memory aligned to
 * {P}_ALIGN, which stay there as long as contexts read them. They are checked. */
int {p}_set_weights({p}_context* context, const void* file, size_t bytes);

/* Has a context read the weights of another one, without a further check. */
int {p}_share_weights({p}_context* context, const {p}_context* from);
)";

constexpr const char* kWeightsHosted = R"(
/* Maps the file and checks it; `file` and `bytes` are then what {p}_set_weights wants. After an error `file` is NULL. */
int {p}_map_weights(const char* path, const void** file, size_t* bytes);
void {p}_unmap_weights(const void* file, size_t bytes);
)";

}  // namespace

uint64_t contextBytes(const std::vector<core::PlanView>& sets) {
  std::vector<plan::Library> libraries;
  for (const core::PlanView& view : sets) libraries.push_back({{&view.header(), view.header().bytes, nullptr, 0}, nullptr, 0, 0});
  std::vector<const plan::Library*> list;
  for (const plan::Library& library : libraries) list.push_back(&library);
  list.push_back(nullptr);
  return embed::places(list.data()).end;
}

int64_t batchOf(const core::PlanView& view) { return embed::most_samples(embed::PlanRecords(&view.header())); }

int64_t largestBatch(const HeaderFacts& facts) {
  int64_t largest = 1;
  const embed::PlanRecords first(&facts.plan().header());
  for (const SizeSet& set : facts.sets)
    if (embed::is_alike(first, embed::PlanRecords(&set.view.header()))) largest = std::max(largest, batchOf(set.view));
  return largest;
}

std::string libraryHeader(const HeaderFacts& facts) {
  const core::PlanView& view = facts.plan();
  const Fields fields = inferenceFields(view);
  auto fact = [&](const char* key) { return commentText(view.find_fact(key) ? view.find_fact(key) : "?"); };
  std::string text = "/* {file}.h: the model " + fact("model") + " of " + fact("source") + ", compiled by " + fact("compiler") + " for " +
                     fact("target") + ". Link {library}" + (facts.hosted ? " and -lm" : "") + ".\n *\n" + usage(fields) + " */\n";
  text += "#ifndef {FILE}_H_\n#define {FILE}_H_\n\n#include <stddef.h>\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  text += constants(fields, facts) + setsOf(facts) + "\n/* What functions return. */\n" + statuses() + "\n";
  text += structOf("inputs", fields.inputs, true) + structOf("outputs", fields.outputs, false) + kContexts;
  if (facts.hosted) text += kHosted;
  if (facts.weights_beside) text += kWeights;
  if (facts.weights_beside && facts.hosted) text += kWeightsHosted;
  text += std::string(kPool) + kRun;
  if (facts.sets.size() > 1) text += kRunSet;
  if (facts.trains()) text += trainingHeader(facts);
  text += "\n#ifdef __cplusplus\n}\n#endif\n\n#endif /* {FILE}_H_ */\n";
  return filled(text, facts);
}

}  // namespace mxc::driver
