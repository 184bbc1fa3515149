// Identity: which member of which job this process is, by what its launcher has told it in variables of the environment.
//
// `mxc launch` tells everything, in variables of its own: MXC_JOB (hexadecimal), MXC_ROLE (worker or scheduler), MXC_RANK, MXC_SIZE, MXC_SCHEDULER, MXC_KEYS,
// MXC_SHARDS, MXC_SERVERS, MXC_PATIENCE, MXC_ON_DEATH with what goes with it (MXC_STATE, MXC_RETURNS, MXC_BEGAN_WITH, MXC_SIZE_BEFORE, MXC_SERVERS_BEFORE, MXC_STATE_BEFORE,
// MXC_GONE), and to the scheduler MXC_PUBLISH and MXC_MEETING. Other launchers (launchers.h) tell ranks; with them users may set MXC_RENDEZVOUS, MXC_KEYS, MXC_INSECURE=1,
// MXC_SHARDS, MXC_SERVERS and MXC_PATIENCE.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace mxc::kv {

// The processes of a job before some of them died, whose state others take over (takeover.h).
struct Predecessors {
  std::string state_dir;
  uint32_t size = 0;     // 0: there are none
  uint32_t servers = 0;  // how many of them held values
};

struct Identity {
  std::string launcher = "mxc launch";  // who has started the process
  uint64_t job = 0;
  uint32_t rank = 0, size = 1;
  bool is_scheduler = false;
  bool is_idle = false;           // neither worker nor scheduler: it has nothing to do, and ends
  bool starts_scheduler = false;  // of rank 0: its launcher has started none
  // How members find the scheduler: its address, of which the host may be a name; of the scheduler itself: where it is to listen. Or else a meeting
  // (meeting.h): of members its name, in the user's folder below `temporary`; of the scheduler the file, if there is one. Members that have neither are told by
  // MPI (mpi_meeting.h).
  std::string scheduler;
  std::string meeting, temporary;
  std::string keys_file;  // empty: none
  bool insecure = false;  // without keys, also where other machines can connect
  int publish = -1;       // of the scheduler: the descriptor that it writes its address to; -1: nobody asks
  int64_t shards = 0;     // of the job; 0: not said
  int64_t servers = 0;    // how many processes hold values; 0: not said
  int64_t patience = 30;  // seconds, with a program that stands still; 0: for ever
  // The job waits for processes that have died: until they have been started again, or, if it shrinks, until its launcher ends all of it and starts fewer.
  bool waits = false, shrinks = false;
  std::string state_dir;  // where servers keep what they must not forget, if it waits
  int returns = 0;        // so many processes have died in this one's place, or so often has the job shrunk
  // Of a job that shrinks: how many processes it began with, and what has become of it last.
  uint32_t began_with = 0;
  Predecessors before;
  std::string gone;  // who has died, for people
};

// "wait" or "shrink", of one that does.
inline const char* on_death(const Identity& identity) { return identity.shrinks ? "shrink" : "wait"; }

// The value of a variable, or null.
using Environment = std::function<const char*(const char* name)>;

// What the environment says; nothing: the process is alone. Error (invalid argument): it says half, or contradicts itself.
absl::StatusOr<std::optional<Identity>> detect_identity(const Environment& environment);

}  // namespace mxc::kv
