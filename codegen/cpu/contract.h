// The fast contraction: register tiles of fused multiply-adds for dense layers, matrix products and convolutions.
#pragma once

#include "ir/kernel.h"

namespace mxc::codegen {

class CpuKernelBuilder;
struct ContractPlan;

// Writes the kernel of `c` and returns true; returns false, having written nothing, if the shape does not suit register tiles.
bool emitContract(CpuKernelBuilder& k, const Contract& c);

// Inside a cell of another grid: the results for steps [lo, hi) (i64) of the rows of the plan's RowCut, which it must have been made with;
// for `lanes` steps of the vector loop from its place in `place`, where the other loops but rows and columns are, too.
void emitContractRows(CpuKernelBuilder& k, const ContractPlan& plan, const Indices& place, int64_t lanes, mlir::Value lo, mlir::Value hi);

}  // namespace mxc::codegen
