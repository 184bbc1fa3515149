// See choose.h.
#include "runtime/embed/choose.h"

extern "C" const mxc::plan::Library mxc_embed_library;

namespace mxc::embed {

const plan::Library& library_to_open() { return mxc_embed_library; }
const plan::Library& library_of(const Context*) { return mxc_embed_library; }

}  // namespace mxc::embed
