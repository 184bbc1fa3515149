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
  bool foreground = false;         // the user's program: it gets what he types, Ctrl-C too. Otherwise a tool, in a group of its own
  bool end_descendants = false;    // what it has started ends with it, wherever it has hidden
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
// While a program in the foreground runs, this process takes no notice of Ctrl-C: the program decides what it means.
ProcessResult runProcess(const std::vector<std::string>& arguments, const ProcessOptions& options);

// In a signal handler: ends the process that runProcess waits for and waits until it has gone. A tool is killed with all that it has started;
// a program in the foreground is sent `signal`.
void endRunningProcess(int signal);

// The arguments as a line for a shell.
std::string shellLine(const std::vector<std::string>& arguments);

}  // namespace mxc::frontend
