// The state of training as bytes, for whoever uses the library to keep.
//
// A StateHeader, then what the context has for itself: trained parameters, the layers' state, the optimizer's state, hyper-parameters, seed, as
// they lie there. Numbers are little-endian. A state goes with a model, the layers that are trained and the values of all other
// weights, not with a build: it moves between libraries whose tensors lie alike.
#pragma once

#include "runtime/embed/context.h"

namespace mxc::embed {

constexpr uint32_t kStateMagic = 0x5343584d;  // "MXCS"
constexpr uint32_t kStateVersion = 1;

struct StateHeader {
  uint32_t magic, version;
  uint64_t bytes;        // of what follows
  uint64_t layout;       // plan::Library::weights_layout
  uint64_t shared;       // checksum of the weights that are not trained
  int64_t steps;         // of training
  uint64_t checksum;     // of what follows, and of `steps`
  uint64_t reserved[2];  // 0
};
static_assert(sizeof(StateHeader) == plan::kAlign);

inline uint64_t state_bytes(const PlanRecords& plan) {
  const Persistent parts = persistent(plan);
  return sizeof(StateHeader) + parts.end - parts.own;
}

// Writes a context's state to memory of any alignment. It reads all weights once. Errors, after which nothing has been written: null_pointer,
// no_context, no_weights, state_truncated.
Status save(Sets sets, const Context* context, void* state, uint64_t bytes);

// Takes a state over. What lies behind it does not matter. Errors, after which nothing has changed: those of `save`, state_other_version,
// state_other_model, state_damaged.
Status load(Sets sets, Context* context, const void* state, uint64_t bytes);

}  // namespace mxc::embed
