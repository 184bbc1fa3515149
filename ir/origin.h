// Where a size of a shape comes from: the operation or input that decided it, for the notes of shape errors.
#pragma once

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Value.h"

namespace mxc {

// One axis of a value.
struct Size {
  mlir::Value value;
  int64_t axis;
};

// Follows a size backwards through the operations that pass it on (pooling keeps channels, relu keeps everything) to the one that
// decides it. Requires: the types of all that comes before are known.
Size originOf(Size size);

// Attaches notes to `error`: where `value` is made, and, if that is elsewhere, where its size on `axis` was decided, as `what`
// ("the 16"): "the 16 of 64x16x8x8 comes from here".
void noteOrigin(mlir::InFlightDiagnostic& error, mlir::Value value, int64_t axis, const llvm::Twine& what, bool plural = false);

// "parameter w", "conv2d0", or "operand 1": how messages call an operand.
std::string operandText(mlir::Operation* op, unsigned operand);

}  // namespace mxc
