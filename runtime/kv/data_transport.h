// Which transport carries contributions and values between processes, as users name it. The scheduler is spoken with over ZeroMQ in any case.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "runtime/kv/mpi_library.h"
#include "runtime/kv/process.h"

namespace mxc::kv {

// "" and "zeromq"; "tcp"; "mpi": by the plug-in that load_mpi finds; "mpi:FILE": by that one. Error (invalid argument): none of these.
absl::Status check_data_transport(const std::string& name);

bool is_tcp(const std::string& name);
bool is_mpi(const std::string& name);

// The plug-in that a name says, or, if it says none, the one that load_mpi finds. Error: load_mpi's.
absl::StatusOr<const mxc_mpi*> mpi_of_data_transport(const std::string& name);

// Sets what `options` says of it, if it is MPI. Error: check_data_transport's; load_mpi's; MPI's; (invalid argument) MPI's job has not as many ranks as this one.
absl::Status use_data_transport(const std::string& name, ProcessOptions& options);

}  // namespace mxc::kv
