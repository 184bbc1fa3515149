// See choose.h. The compiler makes the sets for each of these levels (--multiversion).
#include "runtime/embed/choose.h"

extern "C" {
extern const mxc::plan::Library *const mxc_embed_sets[], *const mxc_embed_sets_v3[], *const mxc_embed_sets_v4[];
}

namespace mxc::embed {

Sets sets_to_open() {
  int level = x86_level();
  return level >= 4 ? mxc_embed_sets_v4 : level >= 3 ? mxc_embed_sets_v3 : mxc_embed_sets;
}

Sets sets_of(const Context* context) {
  const Sets newer[] = {mxc_embed_sets_v3, mxc_embed_sets_v4};
  for (Sets sets : newer) {
    if (check(sets, context) == Status::ok) return sets;
  }
  return mxc_embed_sets;
}

}  // namespace mxc::embed
