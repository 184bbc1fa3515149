// Reads the batches of a data set in a given order, one ahead of the consumer: while a step runs, the engine's io lane fills the
// next batch. The last batch of an order is as short as it comes out; nothing is padded or repeated.
//
// Two slots take turns. Each slot has a variable of the engine that its filling mutates: waiting for it is waiting for the batch, and
// an error of the data set travels on it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/engine/engine.h"
#include "runtime/io/dataset.h"

namespace mxc::io {

// n samples: per field of the data set n * elements() numbers, sample after sample, aligned to plan::kAlign.
struct Batch {
  int64_t n = 0;
  std::vector<void*> fields;
};

// Threads: all members are the consumer's, one at a time.
class BatchLoader {
 public:
  // Batches of up to `batch` samples. The data set and the engine must outlive the loader.
  BatchLoader(const Dataset& dataset, int64_t batch, engine::Engine* engine);
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  // Starts over with the samples order[first..], an order of any length with any rows of the data set; in training, varied.
  void start(std::vector<int64_t> order, int64_t first = 0, std::optional<Variation> variation = std::nullopt);

  // The next batch, valid until the following call of next or start; nullptr after the last one. An error of the data set stays
  // until the next start.
  absl::StatusOr<const Batch*> next();

 private:
  struct Slot {
    Batch batch;
    std::vector<std::unique_ptr<char[]>> memory;
    engine::Variable variable;
  };

  void fill_next(Slot* slot);
  void wait_until_idle();

  const Dataset& dataset_;
  const int64_t batch_;
  engine::Engine* engine_;
  Slot slots_[2];
  int current_ = 0;             // the slot that next() returns
  std::vector<int64_t> order_;  // this and the next changed only while no filling is under way
  std::optional<Variation> variation_;
  int64_t position_ = 0;        // of the next filling
  int64_t remaining_ = 0;       // samples not yet handed out
};

}  // namespace mxc::io
