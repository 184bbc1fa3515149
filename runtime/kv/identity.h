// Identity: which member of which job this process is, by what its launcher has told it in variables of the environment.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace mxc::kv {

struct Identity {
  uint64_t job = 0;
  uint32_t rank = 0, size = 1;
  bool is_scheduler = false;
  std::string scheduler;  // its address; of the scheduler itself: where it is to listen
  std::string keys_file;  // empty: none
  int publish = -1;       // of the scheduler: the descriptor that it writes its address to
  int64_t shards = 0;     // of the job; 0: not said
};

// The value of a variable, or null.
using Environment = std::function<const char*(const char* name)>;

// What the environment says; nothing: the process is alone. Error: it says half, or contradicts itself, or names a launcher that is not understood.
absl::StatusOr<std::optional<Identity>> detect_identity(const Environment& environment);

}  // namespace mxc::kv
