// Answer: a `Done` that is waited for.
#pragma once

#include <condition_variable>
#include <mutex>
#include <utility>

#include "runtime/kv/process.h"

namespace mxc::kv {

// Lives until it has been answered. `done` once.
class Answer {
 public:
  Done done() {
    return [this](absl::Status status) {
      std::lock_guard lock(mutex_);
      status_ = std::move(status);
      there_ = true;
      changed_.notify_all();
    };
  }
  absl::Status wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return there_; });
    return status_;
  }

 private:
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool there_ = false;
  absl::Status status_;
};

}  // namespace mxc::kv
