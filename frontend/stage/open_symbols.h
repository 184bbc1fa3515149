// What a shared object uses and does not define.
#pragma once

#include <string>

namespace mxc::frontend {

// Lets the object be loaded although nobody may define what it calls or takes the address of, such as the functions of the runtime that
// main needs: such symbols become weak, null where they are missing.
// An object of another form than ELF of 64 bits stays as it is.
void weakenOpenSymbols(const std::string& object);

}  // namespace mxc::frontend
