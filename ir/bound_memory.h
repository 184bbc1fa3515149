// The memory behind the arguments and results of a program's functions. Beside the arena, a program holds what lives as long as it does
// (parameters, states, hyper-parameters) and what it is given and gives (inputs, outputs).
#pragma once

#include <string>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace mxc {

// What stands behind one argument or result, as its attributes (mx.role, mx.name) say.
struct BoundMemory {
  std::string role, name;
  bool persistent;  // lives as long as the program; else an input, an output, or a gradient that another function has made
  // All functions have one memory for the arguments and results of one key. Empty: a memory of its own, as each output has.
  std::string key;
};
BoundMemory boundToArgument(mlir::DictionaryAttr attributes);
BoundMemory boundToResult(mlir::DictionaryAttr attributes);

// The bytes of all that, functions of shards (mx.by_shards) excepted, each memory aligned to `alignment`.
int64_t bytesBesideArena(mlir::ModuleOp module, int64_t alignment);

}  // namespace mxc
