// The verb `train`: epochs of steps over a data set, with a test after each, checkpoints, and an exact continuation.
#pragma once

#include <cstdio>

#include "absl/status/statusor.h"
#include "runtime/train/model.h"
#include "runtime/train/options.h"

namespace mxc::train {

// Trains and saves. Returns true if Ctrl-C ended it early (after finishing the step and saving).
//
// A step with t steps done before it: hyper-parameter `step` = t, `seed` = the seed, `lr` = base rate x schedule(t), then the
// train graph on the next batch of shuffled(count, seed, epoch). The run is a function of (program, data, seed, flags); threads and
// interruptions do not change a bit of it.
//
// With several shards (--shards, or a job of several processes) a step takes a batch for each of them (shard_training.h). Then the run is a function of
// their number, too, and not of the number of processes. Rank 0 alone shows, tests, logs and saves; the others say nothing.
absl::StatusOr<bool> run_train(Model* model, const Options& options, FILE* out);

}  // namespace mxc::train
