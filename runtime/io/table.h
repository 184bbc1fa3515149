// The data set that most sources make: columns held in memory in the type of the file, converted as samples are read.
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

// Chooses a column for each of the model's inputs (bind.h) and makes a data set whose fields are the inputs, in their order.
// Options of the source itself are named in `options` and are no mapping. Then every number of an integer input is checked:
// integral, in range, below upper_bound.
// Error: an unknown parameter, a missing column, shapes that do not agree, columns of unlike length, a bad integer.
absl::StatusOr<std::unique_ptr<Dataset>> make_table(const Uri& uri, const std::vector<std::string>& options,
                                                    const std::vector<Field>& inputs, std::vector<Column> columns);

// The parameter `scale`: a positive number that floating inputs are divided by; `fallback` if absent.
absl::StatusOr<double> scale_of(const Uri& uri, double fallback);

}  // namespace mxc::io
