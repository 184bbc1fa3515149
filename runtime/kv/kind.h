// Kinds of stores, as users write them.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "runtime/kv/consistency.h"

namespace mxc::kv {

struct StoreKind {
  bool distributed = false;
  Consistency consistency;
};

// "local", "dist_sync", "dist_bounded:2", "dist_async". Error: none of these; with the nearest.
absl::StatusOr<StoreKind> parse_kind(const std::string& kind);

}  // namespace mxc::kv
