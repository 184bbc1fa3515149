// A job of several processes, on this machine or, through ssh, on others: the program is started once as scheduler, here, and once for each worker, with the
// variables by which they find each other (runtime/kv/identity.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "driver/diagnostics.h"

namespace mxc::driver {

struct LaunchOptions {
  int workers = 0;                   // 0: as many as the hosts have slots
  int64_t shards = 0;                // of the job; 0: what the program says
  int64_t servers = 0;               // processes that hold values; 0: what the program says
  // When a signal ends a process: the job ends; it is started again, and the others wait for it; the others are started anew, and go on without it.
  enum class OnDeath : uint8_t { abort, wait, shrink } on_death = OnDeath::abort;
  int returns = 10;                  // how often processes are started again, all together; if it shrinks, the scheduler
  int64_t patience = 30;             // seconds, with a program that stands still; 0: for ever
  std::string state_dir;             // where servers keep their state, unless it ends; empty: a temporary folder
  std::vector<std::string> command;  // the program and its arguments
  std::string hosts_file;            // empty: all on this machine
  std::vector<std::string> ssh;      // the words before a host's name and the command there
  std::string address;               // of this machine, as hosts see it; empty: what the way to them tells
};

// In the order of OnDeath, as users and processes (MXC_ON_DEATH) name them.
constexpr const char* kOnDeathNames[] = {"abort", "wait", "shrink"};
const char* on_death_name(LaunchOptions::OnDeath policy);

// Runs the job to its end; lines that workers write come out behind their rank, as "[2] line". When a worker fails, the others have a few
// seconds to say why they end, and are ended then. Returns the exit code: 0 if all workers' are; else that of the one that failed first,
// 128 + N if signal N ended it. If the job waits for its dead, a process that a signal has ended is no failure as long as it may be started again; each
// start is told on standard error. If it shrinks, one is no failure as long as another is left and nobody has been asked to stop. A first SIGINT or SIGTERM is handed on to the workers; if one of them is ended by it, so is this process. What cannot be
// started is an error of `printer`.
int launch(const LaunchOptions& options, DiagnosticPrinter& printer);

}  // namespace mxc::driver
