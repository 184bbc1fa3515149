// The data set that all of today's sources make: columns held in memory in the type of the file, converted as samples are
// read, and a choice of rows (all of them, or one side of a held-out split).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/io/dataset.h"
#include "runtime/io/uri.h"

namespace mxc::io {

// One field as a file holds it: `rows` samples of elements() numbers.
struct Column {
  std::string name;            // as the source calls it
  std::vector<int64_t> shape;  // of one sample
  plan::DType stored = plan::DType::u8;
  std::string bytes;                                               // rows * elements() numbers of type `stored`
  double divisor = 1;                                              // a floating input receives number / divisor
  std::function<std::string(int64_t row, int64_t element)> place;  // "labels.gz: byte 25", for messages

  int64_t elements() const;
  int64_t rows() const;
};

// True if samples of shape `have` may be delivered as `want`: equal but for extents of 1, or one of them flat.
bool shapes_agree(const std::vector<int64_t>& have, const std::vector<int64_t>& want);

// Chooses a column for each of the model's inputs and makes a data set whose fields are the inputs, in their order.
// An input takes, in this order: the column named by the parameter `INPUT=COLUMN` of the address; the column of its own name;
// the only column left whose shape agrees (an integer input: of an integer column). Options of the source itself are named in
// `options` and are no mapping. Then every number of an integer input is checked: integral, in range, below upper_bound.
// Error: an unknown parameter, a missing column, shapes that do not agree, columns of unlike length, a bad integer.
absl::StatusOr<std::unique_ptr<Dataset>> make_table(const Uri& uri, const std::vector<std::string>& options,
                                                    const std::vector<Field>& inputs, std::vector<Column> columns);

// Splits off round(fraction * count) samples as `test`; which ones is a function of (seed, count). The order is kept.
// Requires: 0 < fraction < 1; `whole` made by make_table.
DataSplits hold_out(std::unique_ptr<Dataset> whole, double fraction, uint64_t seed);

// Reads the parameters `holdout` (a fraction) and `holdout_seed` of an address and splits accordingly.
absl::StatusOr<DataSplits> hold_out(const Uri& uri, std::unique_ptr<Dataset> whole);

// The parameter `scale`: a positive number that floating inputs are divided by; `fallback` if absent.
absl::StatusOr<double> scale_of(const Uri& uri, double fallback);

}  // namespace mxc::io
