// The scheduler's process: its state machine over a transport.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "runtime/kv/scheduler.h"
#include "runtime/kv/transport.h"

namespace mxc::kv {

// Listens at `address`, calls `published` with the one that it got, and serves until the job is over and its members have gone.
// Returns OK if all have left; else Aborted with why the job has failed.
absl::Status run_scheduler(std::unique_ptr<Transport> transport, uint64_t job, const SchedulerOptions& options,
                           const std::string& address, const std::function<void(const std::string& address)>& published);

// Since whenever; never goes back.
Time now();

}  // namespace mxc::kv
