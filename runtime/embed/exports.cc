// The functions that a library shows, everywhere. The compiler renames mxc_embed_<verb> to <model>_<verb> and hides all else.
#include <stddef.h>

#include "runtime/embed/choose.h"

using namespace mxc::embed;

extern "C" {

int mxc_embed_open(void* arena, size_t bytes, uint64_t build, Context** context) {
  return static_cast<int>(open(sets_to_open(), arena, bytes, build, context));
}

int mxc_embed_run(Context* context, const void* const* inputs, void* const* outputs, int64_t n) {
  return static_cast<int>(run(sets_of(context), context, inputs, outputs, n));
}

int mxc_embed_set_pool(Context* context, const Pool* pool) { return static_cast<int>(set_pool(sets_of(context), context, pool)); }

const char* mxc_embed_status_text(int status) { return status_text(status); }

uint64_t mxc_embed_build(void) { return sets_of(nullptr)[0]->build; }

}  // extern "C"
