// From a program to an embedded library: runtime/embed, as bitcode, is linked into the module, and only its own functions stay visible.
#pragma once

#include <string>
#include <vector>

#include "codegen/compile.h"
#include "llvm/Support/Error.h"

namespace mxc::codegen {

// The same program for a newer processor, in the library under a name of its own: mxc_embed_library_v3.
struct LibraryVariant {
  CompiledProgram* program;
  std::string symbol;
};

struct LibraryParts {
  std::string prefix;                // "lenet": mxc_embed_run becomes lenet_run
  std::vector<std::string> bitcode;  // of runtime/embed for the program's target
  std::string weightsFile;           // the persistent area's image, which is to lie in the library; empty: it does not
  uint64_t weightsBytes = 0;
  uint64_t weightsLayout = 0, build = 0;  // see plan::Library
  std::vector<LibraryVariant> variants;  // beside the program itself
  bool fused = true;                 // false: a * b + c in f32 is to be mxc_soft_fmaf of `bitcode`
  bool rounded = true;               // false: floor in f32 is to be mxc_soft_floorf
};

// Makes the program's module that of a library. The weights never become LLVM constants: the assembler copies them out of their file when
// an object is emitted. Error: the bitcode is none, or does not fit.
llvm::Error makeLibrary(CompiledProgram& program, const LibraryParts& parts);

}  // namespace mxc::codegen
