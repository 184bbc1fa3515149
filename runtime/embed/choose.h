// Which plan::Library the exported functions serve: the one that there is, or of several for x86-64 the one for the processor at hand.
#pragma once

#include "runtime/embed/context.h"

namespace mxc::embed {

// The best that this processor runs. All of a library's have the same weights, sizes and build number.
const plan::Library& library_to_open();

// The one that a context was opened with; if it is no context, any of them, which will refuse it.
const plan::Library& library_of(const Context* context);

// N of x86-64-vN, the levels of the System V ABI's supplement, as far as libraries tell them apart: 1, 3 or 4. It asks the processor.
int x86_level();

}  // namespace mxc::embed
