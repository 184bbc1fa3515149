// See state.h.
#include "runtime/embed/state.h"

#include <stddef.h>

#include "runtime/embed/weights.h"

namespace mxc::embed {

namespace {

// A bijection of each of both.
uint64_t sealed(uint64_t checksum, int64_t steps) { return checksum ^ static_cast<uint64_t>(steps) * 0x9e3779b97f4a7c15; }

Status check_state(Sets sets, const Context* context, const void* state, uint64_t bytes) {
  Status status = check(sets, context);
  if (status != Status::ok) return status;
  if (context->weights == nullptr) return Status::no_weights;
  if (state == nullptr) return Status::null_pointer;
  return bytes < sizeof(StateHeader) ? Status::state_truncated : Status::ok;
}

}  // namespace

Status save(Sets sets, const Context* context, void* state, uint64_t bytes) {
  Status status = check_state(sets, context, state, bytes);
  if (status != Status::ok) return status;
  const Persistent parts = persistent(plan_of(**sets));
  StateHeader header = {};
  header.magic = kStateMagic;
  header.version = kStateVersion;
  header.bytes = parts.end - parts.own;
  if (bytes - sizeof header < header.bytes) return Status::state_truncated;
  header.layout = (*sets)->weights_layout;
  header.shared = checksum(context->weights, parts.own);
  header.steps = context->steps;
  header.checksum = sealed(checksum(context->own, header.bytes), header.steps);
  __builtin_memcpy(state, &header, sizeof header);
  __builtin_memcpy(static_cast<unsigned char*>(state) + sizeof header, context->own, static_cast<size_t>(header.bytes));
  return Status::ok;
}

Status load(Sets sets, Context* context, const void* state, uint64_t bytes) {
  Status status = check_state(sets, context, state, bytes);
  if (status != Status::ok) return status;
  const Persistent parts = persistent(plan_of(**sets));
  StateHeader header;
  __builtin_memcpy(&header, state, sizeof header);
  const unsigned char* content = static_cast<const unsigned char*>(state) + sizeof header;
  if (header.magic != kStateMagic || header.version != kStateVersion) return Status::state_other_version;
  if (header.layout != (*sets)->weights_layout || header.bytes != parts.end - parts.own) return Status::state_other_model;
  if (header.shared != checksum(context->weights, parts.own)) return Status::state_other_model;
  if (bytes - sizeof header < header.bytes) return Status::state_truncated;
  bool whole = header.reserved[0] == 0 && header.reserved[1] == 0 && header.steps >= 0;
  if (!whole || sealed(checksum(content, header.bytes), header.steps) != header.checksum) return Status::state_damaged;
  __builtin_memcpy(context->own, content, static_cast<size_t>(header.bytes));
  context->steps = header.steps;
  return Status::ok;
}

}  // namespace mxc::embed
