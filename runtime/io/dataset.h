// A data set as a model sees it: named fields, one for each of the model's inputs, over `count` samples that can be read in
// any order. What a file holds and how it is stored is the business of the source that made it (open_data.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/core/plan.h"

namespace mxc::io {

// One input of a model, or one field of a data set.
struct Field {
  std::string name;
  plan::DType dtype = plan::DType::f32;
  std::vector<int64_t> shape;  // of one sample: the batch axis is left out
  int64_t upper_bound = 0;     // integers must lie in [0, upper_bound); 0: unchecked
  bool optional = false;       // as a request: a source that lacks it leaves it out instead of failing

  int64_t elements() const;  // of one sample
};

// "1x28x28"; "scalar" for the empty shape.
std::string shape_text(const std::vector<int64_t>& shape);

bool is_floating(plan::DType dtype);

// A pass over the samples in training. What a source varies at random (crops, flips) is a function of (seed, epoch, row).
struct Variation {
  uint64_t seed = 0;
  uint32_t epoch = 0;
};

// Immutable after construction; `read` may be called from several threads at once.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual int64_t count() const = 0;
  virtual const std::vector<Field>& fields() const = 0;

  // Writes samples rows[0..n) of a field back to back, row-major, in the field's dtype: n * elements() numbers.
  // Requires: 0 <= rows[i] < count().
  virtual absl::Status read(int field, const int64_t* rows, int64_t n, void* out) const = 0;

  // The same for a pass of training: a source that varies its samples overrides it.
  virtual absl::Status read_varied(int field, const int64_t* rows, int64_t n, const Variation& variation, void* out) const;

  // Index of a field, or -1.
  int find(const std::string& name) const;
};

// What a source delivers. `test` is null if the source has no held-out part.
struct DataSplits {
  std::unique_ptr<Dataset> train;
  std::unique_ptr<Dataset> test;
};

}  // namespace mxc::io
