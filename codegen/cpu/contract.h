// The fast contraction: register tiles of fused multiply-adds for dense layers, matrix products and convolutions.
#pragma once

#include "ir/kernel.h"

namespace mxc::codegen {

class CpuKernelBuilder;

// Writes the kernel of `c` and returns true; returns false, having written nothing, if the shape does not suit register tiles.
bool emitContract(CpuKernelBuilder& k, const Contract& c);

}  // namespace mxc::codegen
