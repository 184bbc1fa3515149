// Contexts in memory of the C library's, where there is one.
#pragma once

#include "runtime/embed/context.h"

namespace mxc::embed {

// Makes a context in memory of its own. Errors: null_pointer, other_build, out_of_memory; then `context` is null.
Status create(Sets sets, uint64_t build, Context** context);

// Ends a context and gives back its memory if `create` made it. Null and what is no context are left alone.
void destroy(Sets sets, Context* context);

}  // namespace mxc::embed
