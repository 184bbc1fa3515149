// The function that a library which trains and has several sets of sizes shows, everywhere (see exports.cc).
#include "runtime/embed/choose.h"
#include "runtime/embed/train.h"

using namespace mxc::embed;

extern "C" {

int mxc_embed_train_step_set(Context* context, int set, const void* const* inputs, void* const* outputs, int64_t n) {
  return static_cast<int>(train_step_set(sets_of(context), context, set, inputs, outputs, n));
}

}  // extern "C"
