// The function that a library with several sets of sizes shows, everywhere (see exports.cc).
#include "runtime/embed/choose.h"

using namespace mxc::embed;

extern "C" {

int mxc_embed_run_set(Context* context, int set, const void* const* inputs, void* const* outputs, int64_t n) {
  return static_cast<int>(run_set(sets_of(context), context, set, inputs, outputs, n));
}

}  // extern "C"
