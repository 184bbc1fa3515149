// See choose.h. The compiler makes a library for each of these levels (--multiversion).
#include "runtime/embed/choose.h"

extern "C" {
extern const mxc::plan::Library mxc_embed_library, mxc_embed_library_v3, mxc_embed_library_v4;
}

namespace mxc::embed {

const plan::Library& library_to_open() {
  int level = x86_level();
  return level >= 4 ? mxc_embed_library_v4 : level >= 3 ? mxc_embed_library_v3 : mxc_embed_library;
}

const plan::Library& library_of(const Context* context) {
  const plan::Library* const newer[] = {&mxc_embed_library_v3, &mxc_embed_library_v4};
  for (const plan::Library* library : newer) {
    if (check(*library, context) == Status::ok) return *library;
  }
  return mxc_embed_library;
}

}  // namespace mxc::embed
