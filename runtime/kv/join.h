// How a process takes its place in the job that its launcher has told it of.
#pragma once

#include "absl/status/statusor.h"
#include "runtime/kv/identity.h"
#include "runtime/kv/process.h"

namespace mxc::kv {

// Over TCP on this machine, encrypted with the job's keys. Error: the keys cannot be read.
absl::StatusOr<ProcessOptions> process_options(const Identity& identity, const Consistency& consistency);

}  // namespace mxc::kv
