// A worker starts its own program once more, as the scheduler of its job (role.h): rank 0 does so where the launcher has started none.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace mxc::kv {

struct SchedulerProcess {
  uint64_t job = 0;
  uint32_t size = 1;
  std::string listen;     // "tcp://0.0.0.0:5000"
  std::string keys_file;  // empty: none
  std::string meeting;    // a file that it removes in the end; empty: none
  int kept = -1;          // a descriptor that it keeps open while it lives; -1: none
  bool insecure = false;  // without keys, also where other machines can connect
};

// Returns where it listens. It is nobody's child, outlives this process, so that it can tell others of its end, and ends by itself when the job does or nobody
// comes; signals that ask to stop are for the workers. Error (invalid argument): why it cannot be.
absl::StatusOr<std::string> start_scheduler(const SchedulerProcess& process);

}  // namespace mxc::kv
