// Making a context: sizes are looked up in the Plans, and memory is divided.
#include "runtime/embed/context.h"

namespace mxc::embed {

Status open(Sets sets, void* arena, uint64_t bytes, uint64_t build, Context** context) {
  if (context == nullptr) return Status::null_pointer;
  *context = nullptr;
  if (build != (*sets)->build) return Status::other_build;
  if (arena == nullptr) return Status::null_pointer;
  if (reinterpret_cast<uintptr_t>(arena) % plan::kAlign != 0) return Status::misaligned;
  Places at = places(sets);
  if (bytes < at.end) return Status::arena_too_small;
  unsigned char* base = static_cast<unsigned char*>(arena);
  Context* made = static_cast<Context*>(arena);
  *made = {};
  made->sets = sets;
  made->own = base + at.own;
  made->own_from = persistent(plan_of(**sets)).own;
  made->pointers = reinterpret_cast<void**>(base + at.pointers);
  made->arguments = reinterpret_cast<void**>(base + at.arguments);
  made->arena = base + at.arena;
  made->outputs = base + at.outputs;
  take_weights(*made, (*sets)->weights);
  *context = made;
  return Status::ok;
}

void take_weights(Context& context, const void* image) {
  context.weights = static_cast<const unsigned char*>(image);
  context.steps = 0;
  if (image != nullptr) begin_training(context);
}

Status check(Sets sets, const Context* context) {
  if (context == nullptr) return Status::null_pointer;
  if (reinterpret_cast<uintptr_t>(context) % plan::kAlign != 0) return Status::no_context;
  return context->sets == sets ? Status::ok : Status::no_context;
}

Status set_pool(Sets sets, Context* context, const Pool* pool) {
  Status status = check(sets, context);
  if (status != Status::ok) return status;
  Pool none = {};
  if (pool != nullptr && (pool->threads == nullptr || pool->submit == nullptr || pool->wait == nullptr)) return Status::null_pointer;
  context->pool = pool != nullptr ? *pool : none;
  return Status::ok;
}

const char* status_text(int status) {
  return status >= 0 && status < kStatusCount ? kStatusNames[status].text : "there is no such status";
}

}  // namespace mxc::embed
