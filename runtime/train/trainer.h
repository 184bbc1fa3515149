// The standard trainer: everything that a compiled model without a main of its own does.
//     MODEL train --data SOURCE | eval --data SOURCE | predict --data SOURCE | info
// Exit codes: 0; 1 the user's input is wrong; 2 the command line is wrong; 3 something unsupported, named; 70 a fault of this
// program; 130 interrupted by Ctrl-C, after the step was finished and saved. An error is one line on `err`: `MODEL: error: ...`.
#pragma once

#include <cstdio>

#include "runtime/core/plan.h"

namespace mxc::train {

// Runs a command line and returns its exit code. Writes results to `out`, errors to `err`; never throws or exits.
int trainer_main(int argc, char** argv, const plan::Program& program, FILE* out = stdout, FILE* err = stderr);

}  // namespace mxc::train
