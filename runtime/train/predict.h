// The verb `predict`: the outputs of the infer graph for chosen samples, for people or into a file.
#pragma once

#include <cstdio>

#include "absl/status/status.h"
#include "runtime/train/model.h"
#include "runtime/train/options.h"

namespace mxc::train {

// Samples are those of the test part of the data, or of all of it if there is none. A label that the data have beside what
// the infer graph reads is shown as the truth. Output files: NPZ, one array an output, first axis the samples; CSV, one row a
// sample, columns `sample` and `OUTPUT` or `OUTPUT[i]`.
// Error (invalid argument): no such sample, a file name that is neither .npz nor .csv, data or checkpoint that do not fit.
absl::Status run_predict(Model* model, const Options& options, FILE* out);

}  // namespace mxc::train
