// The targets that mxc compiles for beside this machine.
#pragma once

#include <string>
#include <vector>

#include "codegen/lower_kernels.h"
#include "driver/compile.h"

namespace mxc::driver {

struct Target {
  const char* name;      // of --target and of the folder of runtime/embed's bitcode
  const char* triple;
  const char* cpu;       // the least that -mcpu may name; what it is if it does not
  const char* features;  // always there
  const char* abi;       // LLVM's name; empty: the triple's
  bool hosted;           // there is a C library
  bool fused;            // a * b + c in f32, rounded once, is an instruction or in the C library,
  bool rounded;          // and so is floor
};

// What --target may be.
std::vector<std::string> targetNames();

// The target called `name`; of an empty name, or one that is none, this machine's. Null: there are no libraries for this machine.
const Target* findTarget(const std::string& name);

// What code generation is to be told.
codegen::TargetOptions targetOptions(const CompileOptions& options);

// The newer processors of --multiversion, oldest first; none without it.
std::vector<codegen::TargetOptions> variantOptions(const CompileOptions& options);

}  // namespace mxc::driver
