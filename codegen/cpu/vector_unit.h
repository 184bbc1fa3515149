// What the register tiles of contractions must know of a processor.
#pragma once

#include <cstdint>

#include "llvm/Target/TargetMachine.h"

namespace mxc::codegen {

struct VectorUnit {
  int64_t registerBytes = 32;
  int64_t registers = 16;
};

// The widest vector registers that `target` has. Results do not depend on it: it only decides how many sums are kept at once.
VectorUnit vectorUnitOf(const llvm::TargetMachine& target);

}  // namespace mxc::codegen
