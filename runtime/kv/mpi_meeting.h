// How processes that MPI has started on several machines find their scheduler and the job's keys: rank 0 starts it, and MPI tells the others.
//
// Which of rank 0's addresses others reach it by, the others find out, and rank 1 tells rank 0.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "runtime/kv/identity.h"
#include "runtime/kv/keys.h"
#include "runtime/kv/mpi_library.h"

namespace mxc::kv {

struct MpiMeeting {
  std::string scheduler;  // its address
  JobKeys keys;           // those of identity.keys_file, if it names one; else new ones, which MPI carries as it carries everything; none if the job is insecure
};

// All ranks of MPI's job call it, and wait for each other. Requires: size > 1. Error: MPI's; what keeps rank 0 from starting a scheduler, on all ranks;
// a rank reaches rank 0 by none of its addresses.
absl::StatusOr<MpiMeeting> meet_by_mpi(const mxc_mpi& mpi, const Identity& identity);

}  // namespace mxc::kv
