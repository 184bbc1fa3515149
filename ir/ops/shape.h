// The shape family.
#pragma once
#include "ir/mx.h"
#define GET_OP_CLASSES
#include "ir/ops/shape.h.inc"

namespace mxc::mx {
// `type` with other axes: axis i of the result is axis from[i] of `type`, or of size 1 if from[i] is -1.
TensorType rearranged(TensorType type, llvm::ArrayRef<int64_t> from);
}  // namespace mxc::mx
