// What models call themselves and their tensors, as C99 and C++17 take it, also with GNU's extensions.
#pragma once

#include <string>

#include "llvm/ADT/StringRef.h"

namespace mxc::driver {

// `name` as an identifier: other characters become '_'; a keyword, a macro or type of the standard headers, and what begins with "__" or '_' and a capital
// get '_' behind.
std::string cIdentifier(const std::string& name);

// What all names of a model's library begin with: the model's as an identifier, with '_' behind where another library's names, or the C
// library's, could begin alike ("net_train" beside the train_inputs of "net"; "sem" beside sem_open).
std::string libraryPrefix(const std::string& model);

// The C++ namespace of a library with that prefix: the same, with '_' behind where the C library has a function of that name.
std::string namespaceOf(const std::string& prefix);

// Text that may stand in a comment of C.
std::string commentText(llvm::StringRef text);

}  // namespace mxc::driver
