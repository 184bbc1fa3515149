// The functions that a library shows where there is a C library (see exports.cc).
#include "runtime/embed/choose.h"
#include "runtime/embed/create.h"

using namespace mxc::embed;

extern "C" {

int mxc_embed_allocate(uint64_t build, Context** context) { return static_cast<int>(create(sets_to_open(), build, context)); }

void mxc_embed_destroy(Context* context) { destroy(sets_of(context), context); }

}  // extern "C"
