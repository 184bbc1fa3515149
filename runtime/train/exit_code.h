// What a program's exit code says, and how errors map to it.
#pragma once

#include "absl/status/status.h"

namespace mxc::train {

constexpr int kExitOk = 0;
constexpr int kExitUserError = 1;      // the user's input is wrong
constexpr int kExitCommandLine = 2;    // the command line is wrong
constexpr int kExitUnsupported = 3;    // valid, but not supported; the message names it
constexpr int kExitInternal = 70;      // a fault of this program
constexpr int kExitInterrupted = 130;  // Ctrl-C: the step was finished and everything saved

// Invalid argument, out of memory, and a job that has failed elsewhere (aborted) -> 1, unimplemented -> 3, anything else -> 70.
int exit_code(const absl::Status& status);

}  // namespace mxc::train
