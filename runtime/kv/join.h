// How a process takes its place in the job that its launcher has told it of.
#pragma once

#include "absl/status/statusor.h"
#include "runtime/kv/identity.h"
#include "runtime/kv/process.h"

namespace mxc::kv {

// Over TCP, encrypted with the job's keys if there are any; beyond this machine there must be, unless the identity says `insecure`. Where the launcher has started no scheduler, rank 0 starts one
// here, and others may wait for it. Requires: size > 1. Error (invalid argument): the keys cannot be read, or are missing; there is no such machine; the
// scheduler cannot start, or does not come; data_transport.h's.
// Arrays go over `transport` (data_transport.h), or, between processes of one machine, through its memory if `shared_memory`.
absl::StatusOr<ProcessOptions> process_options(const Identity& identity, const Consistency& consistency, bool shared_memory, const std::string& transport = "");

// Where a scheduler at this address ("tcp://HOST:PORT", of which HOST may be a name) is to listen: at it if it is of this machine alone, and else at all that
// this machine has. Error: it is no address; beyond this machine without keys, unless that is allowed.
absl::StatusOr<std::string> listening_address(const std::string& scheduler, const std::string& keys_file, bool insecure = false);

}  // namespace mxc::kv
