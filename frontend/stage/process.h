// Running another program and waiting for it, with limits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mxc::frontend {

struct ProcessOptions {
  int time_limit_seconds = 0;      // 0: none. Wall clock.
  int64_t memory_limit_bytes = 0;  // 0: none. Address space.
  bool stdout_to_stderr = false;
  bool verbose = false;  // print the command to standard error first
};

struct ProcessResult {
  bool started = false;  // false: `error` says why
  std::string error;
  bool timed_out = false;  // it was killed for that
  int signal = 0;          // that ended it; 0: it exited
  int exit_code = 0;
};

// Runs arguments[0], found through PATH, and waits until it ends. On a time-out the whole process group is killed.
ProcessResult runProcess(const std::vector<std::string>& arguments, const ProcessOptions& options);

// The arguments as a line for a shell.
std::string shellLine(const std::vector<std::string>& arguments);

}  // namespace mxc::frontend
