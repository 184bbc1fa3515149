// The functions that a library without weights of its own shows where there is a POSIX system (see exports.cc).
#include <stddef.h>

#include "runtime/embed/choose.h"
#include "runtime/embed/weights_file.h"

using namespace mxc::embed;

extern "C" {

int mxc_embed_map_weights(const char* path, const void** file, size_t* bytes) {
  uint64_t size = 0;
  Status status = map_weights(*sets_of(nullptr)[0], path, file, bytes == nullptr ? nullptr : &size);
  if (bytes != nullptr) *bytes = static_cast<size_t>(size);
  return static_cast<int>(status);
}

void mxc_embed_unmap_weights(const void* file, size_t bytes) { unmap_weights(file, bytes); }

}  // extern "C"
