// What happens when staged code calls a function that nobody defines.
#pragma once

namespace mxc::frontend {

// From now on `instead`, which does not return, runs in the place of a function that is called by its name although no loaded object
// defines it: one whose symbol is weak and so null (open_symbols.h). Any other call of address 0 crashes as always; so do these where the
// processor is none that this knows (x86-64, AArch64).
void onMissingCall(void (*instead)());

}  // namespace mxc::frontend
