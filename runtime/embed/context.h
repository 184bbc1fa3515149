// A context: all that one user of an embedded library has for himself. It lies in one piece of memory, the arena that he hands over.
//
//     Context | pointers to inputs and outputs | arguments of a step | the Plan's arena | outputs that he does not take
//
// The sizes of these parts depend on the Plan alone, not on the target: the compiler works them out with the same function and states
// their sum in the library's header.
#pragma once

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
  const plan::Graph& graph() const { return at<plan::Graph>(header().graphs, 0); }
  const plan::Device& device() const { return at<plan::Device>(header().devices, 0); }
  const plan::Buffer& buffer(uint64_t i) const { return at<plan::Buffer>(header().buffers, i); }
  const plan::Step& step(uint64_t i) const { return at<plan::Step>(header().steps, i); }
  const plan::Arg& arg(uint64_t i) const { return at<plan::Arg>(header().args, i); }
  const plan::Item& item(uint64_t i) const { return at<plan::Item>(header().items, i); }
  const plan::Block& block(uint64_t i) const { return at<plan::Block>(header().blocks, i); }
  const plan::Carried& carried(uint64_t i) const { return at<plan::Carried>(header().carried, i); }
  const plan::Binding& input(uint64_t i) const { return at<plan::Binding>(header().bindings, graph().first_input + i); }
  const plan::Binding& output(uint64_t i) const { return at<plan::Binding>(header().bindings, graph().first_output + i); }

 private:
  template <typename T>
  const T& at(const plan::Table& table, uint64_t i) const {
    return reinterpret_cast<const T*>(blob_ + table.offset)[i];
  }

  const unsigned char* blob_;
};

// Where the parts lie, in bytes from the start of the arena; `end` is the size of all.
struct Places {
  uint64_t pointers, arguments, arena, outputs, end;
};

inline Places places(const PlanRecords& plan) {
  const plan::Graph& graph = plan.graph();
  uint64_t most = 0, outputs = 0;
  for (uint64_t i = 0; i < plan.header().steps.count; ++i) {
    if (plan.step(i).arg_count > most) most = plan.step(i).arg_count;
  }
  for (uint64_t i = 0; i < graph.output_count; ++i) outputs += aligned(plan.buffer(plan.output(i).buffer).bytes);
  Places places = {};
  places.pointers = kContextBytes;
  places.arguments = places.pointers + kPointerBytes * (uint64_t{graph.input_count} + graph.output_count);
  places.arena = aligned(places.arguments + kPointerBytes * most);
  places.outputs = places.arena + aligned(plan.device().arena_bytes);
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
  const plan::Library* library;  // whose context it is: what tells a context from other memory
  const unsigned char* weights;  // the persistent area; null: none yet
  void* allocation;              // what `destroy` gives back; null: the memory is the caller's
  void** pointers;               // inputs, then outputs, of the run in progress
  void** arguments;              // of the step in progress
  unsigned char* arena;
  unsigned char* outputs;        // where the first output lies if it is not taken; the others follow
  Pool pool;                     // threads null: none
};
static_assert(sizeof(Context) <= kContextBytes);

// Makes a context at the start of `arena`. `build` is what the caller's header states. Errors: null_pointer, misaligned, arena_too_small,
// other_build; then `context` is null.
Status open(const plan::Library& library, void* arena, uint64_t bytes, uint64_t build, Context** context);

// Runs the graph on n samples. `inputs` and `outputs` in the model's order; an output that is null is not delivered. Inputs and outputs
// do not overlap. Errors, after which nothing has been computed: no_context, null_pointer, wrong_batch, misaligned, out_of_range,
// no_weights. Threads: one run of a context at a time.
Status run(const plan::Library& library, Context* context, const void* const* inputs, void* const* outputs, int64_t n);

// Has runs of the context share their work out to a pool, which is copied; null: they do not. Errors: those of `check`, null_pointer if one
// of the three functions is.
Status set_pool(const plan::Library& library, Context* context, const Pool* pool);

// ok, or null_pointer, no_context.
Status check(const plan::Library& library, const Context* context);

// One line of text for a status, also for a number that is none.
const char* status_text(int status);

}  // namespace mxc::embed
