// The place of a training in a job of several processes, by the command line and by what its launcher has told it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/kv/compression.h"
#include "runtime/kv/consistency.h"
#include "runtime/kv/identity.h"
#include "runtime/train/options.h"

namespace mxc::train {

struct Job {
  uint32_t rank = 0, size = 1;
  int64_t shards = 0;  // asked for; 0: not said
  int64_t began_with = 1;  // processes
  int64_t servers = 1;  // processes that hold parameters
  kv::Consistency consistency = {};
  bool shared_memory = true;  // between processes of one machine
  std::string machine;  // whose processes add up before anything leaves it; empty: this one is by itself (kv/machine_sums.h)
  std::string transport;  // see kv/data_transport.h
  kv::Compression compression = {};  // asked for
  std::optional<kv::Identity> identity;  // none: this process is alone
  // The job waits for its dead: a process that comes in the place of one, or goes on without it, finds what the servers have, and goes on from there.
  bool waits() const { return identity.has_value() && identity->waits; }
};

// Error (invalid argument): the command line and the environment contradict each other, or themselves.
absl::StatusOr<Job> find_job(const Options& options, const kv::Environment& environment);

// " (Open MPI)"; nothing if mxc launch has started it: for lines that are shown.
std::string by_launcher(const kv::Identity& identity);

}  // namespace mxc::train
