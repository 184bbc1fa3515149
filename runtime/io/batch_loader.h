// Reads the batches of a data set in a given order, one ahead of the consumer: while a step runs, a thread of the loader fills
// the next batch. The last batch of an order is as short as it comes out; nothing is padded or repeated.
//
// Invariants:
// 1. A slot is written by the loader's thread alone while `filled` is false, and read by the consumer alone while it is true.
// 2. `mutex_` guards every member that both sides touch; a slot's contents pass from one to the other through it.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/io/dataset.h"

namespace mxc::io {

// n samples: per field of the data set n * elements() numbers, sample after sample, aligned to plan::kAlign.
struct Batch {
  int64_t n = 0;
  std::vector<void*> fields;
};

class BatchLoader {
 public:
  // Batches of up to `batch` samples. The data set must outlive the loader.
  BatchLoader(const Dataset& dataset, int64_t batch);
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  // Starts over with the samples order[first..], an order of any length with any rows of the data set.
  void start(std::vector<int64_t> order, int64_t first = 0);

  // The next batch, valid until the following call of next or start; nullptr after the last one. One consumer thread.
  absl::StatusOr<const Batch*> next();

 private:
  struct Slot {
    Batch batch;
    std::vector<std::unique_ptr<char[]>> memory;
    absl::Status status;
    bool filled = false;  // mutex_
  };

  void run();
  void fill(Slot* slot, int64_t first, int64_t n);

  const Dataset& dataset_;
  const int64_t batch_;
  Slot slots_[2];
  int taken_ = -1;                 // the consumer's slot; consumer alone
  int next_slot_ = 0;              // the slot that next() returns; consumer alone
  int64_t remaining_ = 0;          // samples not yet handed out; consumer alone
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int64_t> order_;     // written while the thread is idle (start), read by the thread; mutex_
  int64_t position_ = 0;           // of the next fill; mutex_
  int fill_slot_ = 0;              // mutex_
  bool filling_ = false;           // the thread is inside fill; mutex_
  bool stop_ = false;              // mutex_
  std::thread thread_;
};

}  // namespace mxc::io
