// What a shared object uses and does not define.
#pragma once

#include <string>

namespace mxc::frontend {

// Lets the object be loaded although nobody may define what its code takes the address of, such as a function of the runtime that main
// hands on: such symbols become weak, null where they are missing. Calls are bound when they are made, and need nothing.
// An object of another form than ELF of 64 bits stays as it is.
void weakenOpenSymbols(const std::string& object);

}  // namespace mxc::frontend
