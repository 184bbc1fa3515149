// mxc bench: how long a model's training step takes on this machine, and which of its kernels take how much of it.
#pragma once

#include <cstdint>

#include "driver/compile.h"

namespace mxc::driver {

struct BenchOptions {
  int64_t steps = 30;    // that are measured
  int64_t warmup = 5;    // steps before them
  int64_t threads = 0;   // 0: one per processor
  int64_t kernels = 20;  // lines of the table, the longest first; 0: all
  bool json = false;
};

// Compiles the model, trains the program on generated data, and prints what its trace says to standard output: the time of a step (median, shortest and longest),
// samples a second, and of each kernel the mean time a step and the part of the step. What is wrong is an error of `printer`.
void bench(CompileOptions compiled, const BenchOptions& options, DiagnosticPrinter& printer);

}  // namespace mxc::driver
