// Lent: memory of the program's that a store sends from. It comes back when the last frame of it is gone, or when the job has failed.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace mxc::kv {

// Threads: any.
class Lent {
 public:
  // `memory` is there at least as long as this.
  explicit Lent(std::shared_ptr<const void> memory) : memory_(std::move(memory)) {}
  ~Lent() { give_back(); }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

  // `then` is called once, when the memory is back: at once if it is.
  void when_back(std::function<void()> then) {
    {
      std::lock_guard lock(mutex_);
      if (!is_back_) return void(then_ = std::move(then));
    }
    then();
  }
  // After a failure, somebody may still read it; what that makes of it is of no use to anybody.
  void give_back() {
    std::function<void()> then;
    {
      std::lock_guard lock(mutex_);
      is_back_ = true;
      then.swap(then_);
    }
    if (then) then();
  }

 private:
  const std::shared_ptr<const void> memory_;
  std::mutex mutex_;  // guards what follows
  bool is_back_ = false;
  std::function<void()> then_;
};

}  // namespace mxc::kv
