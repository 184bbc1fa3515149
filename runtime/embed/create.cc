// The C library's functions are declared here: bitcode is compiled without any system's headers.
#include "runtime/embed/create.h"

#include <stddef.h>

extern "C" {
void* malloc(size_t bytes);
void free(void* memory);
}

namespace mxc::embed {

Status create(Sets sets, uint64_t build, Context** context) {
  if (context == nullptr) return Status::null_pointer;
  *context = nullptr;
  if (build != (*sets)->build) return Status::other_build;
  uint64_t bytes = places(sets).end, with_slack = bytes + plan::kAlign;
  if (with_slack > SIZE_MAX) return Status::out_of_memory;
  void* allocation = malloc(static_cast<size_t>(with_slack));
  if (allocation == nullptr) return Status::out_of_memory;
  uintptr_t start = (reinterpret_cast<uintptr_t>(allocation) + plan::kAlign - 1) / plan::kAlign * plan::kAlign;
  Status status = open(sets, reinterpret_cast<void*>(start), bytes, build, context);
  if (status == Status::ok) (*context)->allocation = allocation;
  else free(allocation);
  return status;
}

void destroy(Sets sets, Context* context) {
  if (check(sets, context) != Status::ok) return;
  context->sets = nullptr;
  free(context->allocation);
}

}  // namespace mxc::embed
