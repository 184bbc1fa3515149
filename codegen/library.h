// From a program to an embedded library: runtime/embed, as bitcode, is linked into the module, and only its own functions stay visible.
#pragma once

#include <string>
#include <vector>

#include "codegen/compile.h"
#include "llvm/Support/Error.h"

namespace mxc::codegen {

// A library's programs for one processor: the same model for one or several sets of sizes.
struct LibraryVersion {
  std::vector<CompiledProgram*> sets;
  std::string suffix;  // of the names within: "", or "_v3" for x86-64-v3
};

struct LibraryParts {
  std::string prefix;                // "lenet": mxc_embed_run becomes lenet_run
  std::vector<std::string> bitcode;  // of runtime/embed for the program's target
  std::string weightsFile;           // the persistent area's image, which is to lie in the library; empty: it does not
  uint64_t weightsBytes = 0;         // of that file
  uint64_t weightsLayout = 0, build = 0;  // see plan::Library
  bool fused = true;                 // false: a * b + c in f32 is to be mxc_soft_fmaf of `bitcode`
  bool rounded = true;               // false: floor in f32 is to be mxc_soft_floorf
  uint64_t nesting = 1;              // blocks of a Plan that lie in each other, at most
};

// Makes the module of the first version's first program that of a library; those of the others are used up. The weights, which all have in
// common, are neither LLVM constants nor the assembler's: where they are to lie, in a section of their own, an object has zeros. Error: the bitcode
// is none, or does not fit.
llvm::Error makeLibrary(const std::vector<LibraryVersion>& versions, const LibraryParts& parts);

// Writes the library's object to the file `object`, the weights' file in its place; memory does not depend on how large that is, but on wasm.
// Returns how much stack its functions take (stack_need.h). Error: a file cannot be read or written.
llvm::Expected<uint64_t> writeLibraryObject(CompiledProgram& program, const LibraryParts& parts, const std::string& object);

}  // namespace mxc::codegen
