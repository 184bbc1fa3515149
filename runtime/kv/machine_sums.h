// Whether a process adds up its contributions with others of its machine before they leave it (machines.h), as users say it.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace mxc::kv {

// What a job is beside that.
struct MachineSums {
  std::string asked = "";  // "auto" or nothing: if the job can; "on": it must; "off"
  bool async = false, compresses = false, waits = false, shares_memory = true;
  std::string transport = "";  // see data_transport.h
};

// The machine, as others on it call it, too: those of one user, one network namespace, and one start of the system, who can share memory. Empty: the process is to
// be by itself. Error (invalid argument): `asked` is none of these; or "on", and the job cannot.
absl::StatusOr<std::string> machine_to_add_in(const MachineSums& job);

}  // namespace mxc::kv
