// The listed kernels as one LLVM module: their machine code to be, and the table in which NDArray finds them.
#pragma once

#include <memory>
#include <string>

#include "codegen/lower_kernels.h"
#include "llvm/IR/Module.h"
#include "mlir/IR/MLIRContext.h"

namespace mxc::codegen {

// The symbols `mxc_ndarray_kernels_<level>` (KernelFamily of runtime/ndarray/kernels.h, sorted by name) and
// `mxc_ndarray_families_<level>` (their number, i64). Fails with a diagnostic.
// Requires: `context` has loaded the dialects of registerKernelDialects and mx.
mlir::FailureOr<std::unique_ptr<llvm::Module>> buildKernelTable(mlir::MLIRContext& context, llvm::LLVMContext& llvmContext,
                                                               llvm::TargetMachine& target, const std::string& level);

}  // namespace mxc::codegen
