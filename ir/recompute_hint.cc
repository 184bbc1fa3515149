// See recompute_hint.h.
#include "ir/recompute_hint.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace mxc {

Location hintRecompute(Location place, int64_t scope) {
  return FusedLoc::get(place.getContext(), {place}, IntegerAttr::get(IntegerType::get(place.getContext(), 64), scope));
}

std::optional<int64_t> recomputeScope(Location location) {
  if (auto named = dyn_cast<NameLoc>(location)) location = named.getChildLoc();
  for (auto fused = dyn_cast<FusedLoc>(location); fused; fused = dyn_cast<FusedLoc>(location)) {
    if (auto scope = dyn_cast_or_null<IntegerAttr>(fused.getMetadata())) return scope.getInt();
    location = fused.getLocations().front();  // that of a gradient is marked
  }
  return std::nullopt;
}

}  // namespace mxc
