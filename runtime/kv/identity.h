// Identity: which member of which job this process is, by what its launcher has told it in variables of the environment.
//
// `mxc launch` tells everything, in variables of its own: MXC_JOB (hexadecimal), MXC_ROLE (worker or scheduler), MXC_RANK, MXC_SIZE, MXC_SCHEDULER, MXC_KEYS,
// MXC_SHARDS, and to the scheduler MXC_PUBLISH and MXC_MEETING. Other launchers (launchers.h) tell ranks; with them users may set MXC_RENDEZVOUS, MXC_KEYS and
// MXC_SHARDS.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace mxc::kv {

struct Identity {
  std::string launcher = "mxc launch";  // who has started the process
  uint64_t job = 0;
  uint32_t rank = 0, size = 1;
  bool is_scheduler = false;
  bool is_idle = false;           // neither worker nor scheduler: it has nothing to do, and ends
  bool starts_scheduler = false;  // of rank 0: its launcher has started none
  // How members find the scheduler: its address, of which the host may be a name; of the scheduler itself: where it is to listen. Or else a meeting
  // (meeting.h): of members its name, in the user's folder below `temporary`; of the scheduler the file, if there is one.
  std::string scheduler;
  std::string meeting, temporary;
  std::string keys_file;  // empty: none
  int publish = -1;       // of the scheduler: the descriptor that it writes its address to; -1: nobody asks
  int64_t shards = 0;     // of the job; 0: not said
  bool waits = false;     // the job waits for processes that have died, until they have been started again
  std::string state_dir;  // where servers keep what they must not forget, if it waits
  int returns = 0;        // so many processes have died in this one's place
};

// The value of a variable, or null.
using Environment = std::function<const char*(const char* name)>;

// What the environment says; nothing: the process is alone. Error (invalid argument): it says half, or contradicts itself.
absl::StatusOr<std::optional<Identity>> detect_identity(const Environment& environment);

}  // namespace mxc::kv
