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

// Of level 1: "" and "sync", or "async". Error: it is neither; async does not go with the kind.
absl::Status set_local(const std::string& model, StoreKind& kind);

}  // namespace mxc::kv
