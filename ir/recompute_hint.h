// Hints of the model that a value be made again in backward instead of being kept (the DSL's Recompute).
//
// A hint belongs to a place in the model, so it is part of an operation's location, fused<SCOPE>[place] below its name: what passes put in
// the place of an operation has its location, and with it the hint. The operations of one Recompute have one scope.
#pragma once

#include <optional>

#include "mlir/IR/Location.h"

namespace mxc {

// `place` with the hint.
mlir::Location hintRecompute(mlir::Location place, int64_t scope);
// The scope of the hint in a location, if there is one.
std::optional<int64_t> recomputeScope(mlir::Location location);

}  // namespace mxc
