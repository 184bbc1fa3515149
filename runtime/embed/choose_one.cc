// See choose.h.
#include "runtime/embed/choose.h"

extern "C" const mxc::plan::Library* const mxc_embed_sets[];

namespace mxc::embed {

Sets sets_to_open() { return mxc_embed_sets; }
Sets sets_of(const Context*) { return mxc_embed_sets; }

}  // namespace mxc::embed
