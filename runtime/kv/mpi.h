// Transport over MPI: endpoints of processes that one launcher of MPI's has started.
//
// An endpoint listens at "mpi:RANK/NUMBER", the rank being MPI's; "mpi:" is a number that is free. MPI loses nothing and ends with the processes: a
// connection ends when one of its endpoints says so, and what was sent to an endpoint that has closed is answered with that. All messages of a process
// are moved by one thread, which looks for new ones every few microseconds while there are some, and at most every millisecond.
#pragma once

#include <memory>

#include "runtime/kv/mpi_library.h"
#include "runtime/kv/transport.h"

namespace mxc::kv {

// What the endpoints of a process share. Made once in a process; lives as long as its endpoints.
class MpiProcess;

// Becomes a member of MPI's job, which is to have `size` ranks. `plugin` must stay. Error: what MPI says; it has another number of them.
absl::StatusOr<std::shared_ptr<MpiProcess>> join_mpi(const mxc_mpi* plugin, uint32_t size);

// An endpoint that takes frames up to `largest_frame` bytes, and ends connections that carry larger ones.
std::unique_ptr<Transport> make_mpi_transport(std::shared_ptr<MpiProcess> process, int64_t largest_frame);

}  // namespace mxc::kv
