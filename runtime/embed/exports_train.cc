// The functions that a library which trains shows, everywhere (see exports.cc).
#include <stddef.h>

#include "runtime/embed/choose.h"
#include "runtime/embed/state.h"
#include "runtime/embed/train.h"

using namespace mxc::embed;

extern "C" {

int mxc_embed_train_step(Context* context, const void* const* inputs, void* const* outputs, int64_t n) {
  return static_cast<int>(train_step(sets_of(context), context, inputs, outputs, n));
}

int mxc_embed_get_hypers(const Context* context, double* values) { return static_cast<int>(get_hypers(sets_of(context), context, values)); }

int mxc_embed_set_hypers(Context* context, const double* values) { return static_cast<int>(set_hypers(sets_of(context), context, values)); }

int mxc_embed_set_seed(Context* context, uint64_t seed) { return static_cast<int>(set_seed(sets_of(context), context, seed)); }

int mxc_embed_count_steps(const Context* context, int64_t* steps) { return static_cast<int>(count_steps(sets_of(context), context, steps)); }

int mxc_embed_save(const Context* context, void* state, size_t bytes) { return static_cast<int>(save(sets_of(context), context, state, bytes)); }

int mxc_embed_load(Context* context, const void* state, size_t bytes) { return static_cast<int>(load(sets_of(context), context, state, bytes)); }

}  // extern "C"
