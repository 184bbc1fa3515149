// A context: all that one user of an embedded library has for himself. It lies in one piece of memory, the arena that he hands over.
//
//     Context | what training changes | pointers to inputs and outputs | arguments of a step | the Plan's arena | outputs that he does not take
//
// The sizes of these parts depend on the Plans alone, not on the target: the compiler works them out with the same function and states
// their sum in the library's header.
#pragma once

#include "runtime/core/hyper_range.h"
#include "runtime/core/plan.h"
#include "runtime/core/plan_sizes.h"
#include "runtime/embed/status.h"

namespace mxc::embed {

constexpr uint64_t kContextBytes = 128;  // for the Context itself
constexpr uint64_t kPointerBytes = 8;    // for each pointer, whatever it takes on the target

inline uint64_t aligned(uint64_t bytes) { return (bytes + plan::kAlign - 1) / plan::kAlign * plan::kAlign; }

// The records of a Plan that is known to be valid.
class PlanRecords {
 public:
  explicit PlanRecords(const void* blob) : blob_(static_cast<const unsigned char*>(blob)) {}

  const plan::Header& header() const { return *reinterpret_cast<const plan::Header*>(blob_); }
  const plan::Graph& inference() const { return graph(0); }
  const plan::Graph* training() const { return graph_count() > 1 ? &graph(1) : nullptr; }  // null: the library does not train
  uint64_t graph_count() const { return header().graphs.count; }
  const plan::Graph& graph(uint64_t i) const { return at<plan::Graph>(header().graphs, i); }
  const plan::Device& device() const { return at<plan::Device>(header().devices, 0); }
  const plan::Buffer& buffer(uint64_t i) const { return at<plan::Buffer>(header().buffers, i); }
  const plan::Step& step(uint64_t i) const { return at<plan::Step>(header().steps, i); }
  const plan::Arg& arg(uint64_t i) const { return at<plan::Arg>(header().args, i); }
  const plan::Item& item(uint64_t i) const { return at<plan::Item>(header().items, i); }
  const plan::Block& block(uint64_t i) const { return at<plan::Block>(header().blocks, i); }
  const plan::Carried& carried(uint64_t i) const { return at<plan::Carried>(header().carried, i); }
  const plan::Hyper& hyper(uint64_t i) const { return at<plan::Hyper>(header().hypers, i); }
  const plan::Binding& slot(uint64_t i) const { return at<plan::Binding>(header().optimizer_slots, i); }
  const plan::Binding& input(const plan::Graph& graph, uint64_t i) const { return at<plan::Binding>(header().bindings, graph.first_input + i); }
  const plan::Binding& output(const plan::Graph& graph, uint64_t i) const { return at<plan::Binding>(header().bindings, graph.first_output + i); }
  const char* text(uint32_t string) const { return &at<char>(header().strings, string); }
  // A fact of that key; empty if there is none.
  const char* fact(const char* key) const {
    for (uint64_t i = 0; i < header().facts.count; ++i) {
      const plan::Fact& fact = at<plan::Fact>(header().facts, i);
      if (core::same_text(text(fact.key), key)) return text(fact.value);
    }
    return "";
  }
  // Whether the caller gets it: new values of parameters and states lie where the old ones did.
  bool is_delivered(const plan::Binding& output) const { return buffer(output.buffer).space == plan::Space::io; }

 private:
  template <typename T>
  const T& at(const plan::Table& table, uint64_t i) const {
    return reinterpret_cast<const T*>(blob_ + table.offset)[i];
  }

  const unsigned char* blob_;
};

// The models that a library holds: one for each set of sizes that it is compiled for, all with the same weights, build number and names. Ends
// with a null.
using Sets = const plan::Library* const*;

// The most samples of a run: the batch of whatever graph has one, so that inference without a batch beside training with one takes the same numbers.
inline int64_t most_samples(const PlanRecords& plan) {
  int64_t most = 1;
  for (uint64_t i = 0; i < plan.graph_count(); ++i) {
    if (plan.graph(i).batch > most) most = plan.graph(i).batch;
  }
  return most;
}

inline PlanRecords plan_of(const plan::Library& library) { return PlanRecords(library.program.plan); }

// The persistent area of a library (plan.h): bytes below `own` are the same for all contexts, the others each has for himself; those below
// `fresh` are in the image of the weights. Without training there is nothing of one's own.
struct Persistent {
  uint64_t own, fresh, end;
};

inline Persistent persistent(const PlanRecords& plan) {
  const plan::Graph* training = plan.training();
  Persistent parts = {};
  parts.end = parts.own = parts.fresh = plan.device().persistent_bytes;
  if (training == nullptr) return parts;
  auto lower = [&](uint64_t* bound, uint32_t buffer) {
    if (plan.buffer(buffer).offset < *bound) *bound = plan.buffer(buffer).offset;
  };
  for (uint64_t i = 0; i < plan.header().optimizer_slots.count; ++i) lower(&parts.fresh, plan.slot(i).buffer);
  for (uint64_t i = 0; i < plan.header().hypers.count; ++i) lower(&parts.fresh, plan.hyper(i).buffer);
  parts.own = parts.fresh;
  for (uint64_t i = 0; i < training->output_count; ++i) {
    if (!plan.is_delivered(plan.output(*training, i))) lower(&parts.own, plan.output(*training, i).buffer);
  }
  return parts;
}

// Where the parts of a context lie, in bytes from the start of its memory; `end` is the size of all. Each part has room for all sets.
struct Places {
  uint64_t own, pointers, arguments, arena, outputs, end;
};

inline Places places(Sets sets) {
  uint64_t bound = 0, arguments = 0, arena = 0, outputs = 0;
  auto most = [](uint64_t* so_far, uint64_t bytes) {
    if (bytes > *so_far) *so_far = bytes;
  };
  for (Sets set = sets; *set != nullptr; ++set) {
    const PlanRecords plan = plan_of(**set);
    for (uint64_t i = 0; i < plan.header().steps.count; ++i) most(&arguments, plan.step(i).arg_count);
    most(&arena, aligned(plan.device().arena_bytes));
    for (uint64_t g = 0; g < plan.graph_count(); ++g) {
      const plan::Graph& graph = plan.graph(g);
      uint64_t bytes = 0;
      for (uint64_t i = 0; i < graph.output_count; ++i) {
        const plan::Binding& output = plan.output(graph, i);
        if (plan.is_delivered(output)) bytes += aligned(plan.buffer(output.buffer).bytes);
      }
      most(&outputs, bytes);
      most(&bound, uint64_t{graph.input_count} + graph.output_count);
    }
  }
  const Persistent parts = persistent(plan_of(**sets));
  Places places = {};
  places.own = kContextBytes;
  places.pointers = places.own + parts.end - parts.own;
  places.arguments = places.pointers + kPointerBytes * bound;
  places.arena = aligned(places.arguments + kPointerBytes * arguments);
  places.outputs = places.arena + arena;
  places.end = places.outputs + outputs;
  return places;
}

// Threads of the caller, of which a run makes use. All three functions are given `self`.
struct Pool {
  void* self;
  int (*threads)(void* self);                                          // that compute together, the calling one among them
  void (*submit)(void* self, void (*task)(void*), void* argument);     // runs task(argument) on any thread, soon
  void (*wait)(void* self);                                            // returns when everything that was submitted has ended
};

struct Context {
  Sets sets;                     // whose context it is: what tells a context from other memory
  const unsigned char* weights;  // the image of the persistent area; null: none yet
  void* allocation;              // what `destroy` gives back; null: the memory is the caller's
  void** pointers;               // inputs, then outputs, of the run in progress
  void** arguments;              // of the step in progress
  unsigned char* arena;
  unsigned char* outputs;        // where the first output lies if it is not taken; the others follow
  unsigned char* own;            // of the persistent area, what lies at and above `own_from`
  uint64_t own_from;
  int64_t steps;                 // of training, done since it began
  Pool pool;                     // threads null: none
};
static_assert(sizeof(Context) <= kContextBytes);

// Makes a context at the start of `arena`. `build` is what the caller's header states. Errors: null_pointer, misaligned, arena_too_small,
// other_build; then `context` is null.
Status open(Sets sets, void* arena, uint64_t bytes, uint64_t build, Context** context);

// From now on the context reads these weights, an image of the persistent area. If it trains, training begins anew from them: the optimizer's
// state is zero, hyper-parameters are the model's. Requires: `image` stays where it is; null: there are none.
void take_weights(Context& context, const void* image);

// Makes what the context has for itself what it is before the first step. There are two of it: train.cc's, and no_training.cc's for libraries that
// do not train, which are to need nothing of its arithmetic.
void begin_training(Context& context);

// Whether a set does for the first one's caller, who is not to know which of them runs: the same sizes but for the batch (the fact "sizes"), and n
// samples lie in memory alike. Where the batch is not the first axis they do not: the rows of another batch are as long as that.
bool is_alike(const PlanRecords& first, const PlanRecords& set);

// The set that n samples of the first set's sizes are run by: of those that are alike, the one with the smallest batch that they fit in; the
// one with the largest if there is none.
const plan::Library* set_for(Sets sets, int64_t n);

// The set of that number; null if there is none.
const plan::Library* set_at(Sets sets, int set);

// Runs inference on n samples. `inputs` and `outputs` in the model's order; an output that is null is not delivered. Inputs and outputs
// do not overlap. Errors, after which nothing has been computed: no_context, null_pointer, wrong_batch, misaligned, out_of_range,
// no_weights. Threads: one run of a context at a time.
Status run(Sets sets, Context* context, const void* const* inputs, void* const* outputs, int64_t n);

// The same with the set of that number. Errors: also no_set.
Status run_set(Sets sets, Context* context, int set, const void* const* inputs, void* const* outputs, int64_t n);

// The same for any graph of a set.
Status run_graph(Context& context, const plan::Library& set, const plan::Graph& graph, const void* const* inputs, void* const* outputs, int64_t n);

// Has runs of the context share their work out to a pool, which is copied; null: they do not. Errors: those of `check`, null_pointer if one
// of the three functions is.
Status set_pool(Sets sets, Context* context, const Pool* pool);

// ok, or null_pointer, no_context.
Status check(Sets sets, const Context* context);

// One line of text for a status, also for a number that is none.
const char* status_text(int status);

}  // namespace mxc::embed
