// Which results of a kernel may be written over which of its operands.
#pragma once

#include "ir/mx.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace mxc::passes {

// The memory that a value lies in is that of its root: views are followed to what they look at.
mlir::Value memoryRoot(mlir::Value value);

// Whether result `result` may take the memory of the operands `operands` (all those that lie in that memory), given that nobody
// needs them after this kernel. It may if each of them is read only at the point that is being written, before it is written; or by the
// anchor in a way that the anchor allows.
// This leans on code generation: at each point all loads come before all stores, and no point is computed twice.
bool kernelCanOverwrite(mx::KernelOp kernel, llvm::ArrayRef<unsigned> operands, unsigned result);

}  // namespace mxc::passes
