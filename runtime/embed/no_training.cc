// See begin_training in context.h: a library that does not train.
#include "runtime/embed/context.h"

namespace mxc::embed {

void begin_training(Context&) {}

}  // namespace mxc::embed
