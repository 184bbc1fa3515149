// A part of the samples kept for testing.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "runtime/io/dataset.h"
#include "runtime/io/uri.h"

namespace mxc::io {

// Splits off round(fraction * count) samples as `test`; which ones is a function of (seed, count). The order is kept, and what a
// training pass draws for a sample still goes by its row in `whole`. Requires: 0 < fraction < 1.
DataSplits hold_out(std::unique_ptr<Dataset> whole, double fraction, uint64_t seed);

// Reads the parameters `holdout` (a fraction) and `holdout_seed` of an address and splits accordingly; without them all is `train`.
// Error: a value that is none; a side without samples.
absl::StatusOr<DataSplits> hold_out(const Uri& uri, std::unique_ptr<Dataset> whole);

}  // namespace mxc::io
