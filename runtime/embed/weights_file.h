// Weight files mapped into memory, where there is a POSIX system.
#pragma once

#include "runtime/embed/weights.h"

namespace mxc::embed {

// Maps the file, read-only, and checks it. Pages come into memory once for all processes. Errors, after which nothing is mapped:
// null_pointer, weights_unreadable, and those of check_weights.
Status map_weights(const plan::Library& library, const char* path, const void** file, uint64_t* bytes);

// Gives back what map_weights has mapped. No context reads it any more. Null is left alone.
void unmap_weights(const void* file, uint64_t bytes);

}  // namespace mxc::embed
