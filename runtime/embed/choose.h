// Which models the exported functions serve: those that there are, or of several versions for x86-64 those for the processor at hand.
#pragma once

#include "runtime/embed/context.h"

namespace mxc::embed {

// The best that this processor runs. All versions have the same sets of sizes, weights and build number.
Sets sets_to_open();

// Those that a context was opened with; if it is no context, any of them, which will refuse it.
Sets sets_of(const Context* context);

// N of x86-64-vN, the levels of the System V ABI's supplement, as far as libraries tell them apart: 1, 3 or 4. It asks the processor.
int x86_level();

}  // namespace mxc::embed
