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
  bool waits = false;                // when a signal ends a process, it is started again, and the others wait for it
  int returns = 10;                  // so often, all processes together
  std::string state_dir;             // where servers keep their state if it waits; empty: a temporary folder
  std::vector<std::string> command;  // the program and its arguments
  std::string hosts_file;            // empty: all on this machine
  std::vector<std::string> ssh;      // the words before a host's name and the command there
  std::string address;               // of this machine, as hosts see it; empty: what the way to them tells
};

// Runs the job to its end; lines that workers write come out behind their rank, as "[2] line". When a worker fails, the others have a few
// seconds to say why they end, and are ended then. Returns the exit code: 0 if all workers' are; else that of the one that failed first,
// 128 + N if signal N ended it. If the job waits for its dead, a process that a signal has ended is no failure as long as it may be started again; each
// start is told on standard error. A first SIGINT or SIGTERM is handed on to the workers; if one of them is ended by it, so is this process. What cannot be
// started is an error of `printer`.
int launch(const LaunchOptions& options, DiagnosticPrinter& printer);

}  // namespace mxc::driver
