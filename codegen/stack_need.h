// How much of its caller's stack a library takes: what LLVM says of each function's frame, summed along the deepest chain of calls.
#pragma once

#include <cstdint>
#include <string>

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

namespace mxc::codegen {

// Bytes that no call of a function which the module shows exceeds, without what functions outside of it take (the C library's, the caller's pool). `frames`
// is the file that LLVM wrote for TargetOptions::StackUsageOutput. A call through a pointer may be one of any function of the module whose address is taken
// and which has that type. `nesting`: how many calls of one function that calls itself are in progress at most. Error: the file cannot be read, or a
// frame's size is not known when compiling.
llvm::Expected<uint64_t> stackNeed(const llvm::Module& module, const std::string& frames, uint64_t nesting);

}  // namespace mxc::codegen
