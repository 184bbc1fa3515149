// Processes on other machines, through ssh: what the shell there is told, and which address of this machine those there see.
//
// A process there is asked things over ssh's standard input, which also tells it that `mxc launch` has gone. First come the job's keys, which so never stand
// in a command line; a file that the user there alone may read holds them while the process runs. Then lines with the names of signals to hand on.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "driver/child.h"
#include "runtime/kv/keys.h"

namespace mxc::driver {

// The command for the user's shell on the other machine, in one line: runs `command` in `folder` with the variables, and MXC_KEYS beside them. It ends with the
// program's exit code, 128 + N if signal N ended it.
std::string remote_command(const std::vector<std::string>& command, const std::string& folder, const Variables& variables);

// What goes to its standard input first.
std::string keys_line(const kv::JobKeys& keys);
// What asks it to hand on a signal; empty: of this one it is not asked.
std::string signal_line(int signal);

// By which address of this machine each of these hosts sees it: 127.0.0.1 if all of them are this machine itself. One that is calls it as the first of the others
// does. Error: a host that is not known here, or that no way leads to.
absl::StatusOr<std::vector<std::string>> addresses_to(const std::vector<std::string>& hosts);

}  // namespace mxc::driver
