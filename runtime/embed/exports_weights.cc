// The functions that a library without weights of its own shows, everywhere (see exports.cc).
#include <stddef.h>

#include "runtime/embed/choose.h"
#include "runtime/embed/weights.h"

using namespace mxc::embed;

extern "C" {

int mxc_embed_set_weights(Context* context, const void* file, size_t bytes) {
  return static_cast<int>(set_weights(sets_of(context), context, file, bytes));
}

int mxc_embed_share_weights(Context* context, const Context* from) {
  return static_cast<int>(share_weights(sets_of(context), context, from));
}

}  // extern "C"
