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
  auto fused = dyn_cast<FusedLoc>(location);
  auto scope = fused ? dyn_cast_or_null<IntegerAttr>(fused.getMetadata()) : IntegerAttr();
  return scope ? std::optional<int64_t>(scope.getInt()) : std::nullopt;
}

}  // namespace mxc
