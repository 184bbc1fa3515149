// ThreadPool: splits a range of cells over a few threads and the caller, and returns when all are done.
//
// One loop at a time: the caller publishes it, everyone (the caller too) claims chunks of it by one compare-and-swap, and the
// caller waits only for chunks that were claimed. A worker that sleeps or was descheduled is therefore never waited for: on a
// busy machine the caller does the work itself. Workers spin for some microseconds after a loop (a step's loops follow each
// other closely) and then sleep on a futex.
//
// Workers do not survive a fork. In the child, a pool of the parent's is one thread, the caller, and can be destroyed. Who forks within a
// loop must not return to the loop in the child: other threads' ranges would never end.
#pragma once

#include <cstdint>

#include "runtime/core/status.h"

namespace mxc::core {

// Runs [begin, end) of a loop.
using RangeFunction = void (*)(void* context, int64_t begin, int64_t end);

class ThreadPool {
 public:
  ThreadPool() = default;  // one thread: the caller
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ThreadPool(ThreadPool&& other);
  ThreadPool& operator=(ThreadPool&& other);
  ~ThreadPool();  // joins the workers; in a forked child there are none. Requires: no loop runs

  // `threads` counts the caller: threads - 1 workers are started. 0 takes one per CPU this process may use.
  static Status create(int threads, ThreadPool* pool);

  int threads() const;

  // Calls `function` on ranges that partition [0, grid), on this and other threads, and returns when all have ended; what they
  // wrote is visible to the caller. With one thread, or grid <= 1, it is one plain call.
  // Threads: callable from any; while one caller's loop runs, others run theirs on their own thread alone (so nesting is safe).
  void parallel(int64_t grid, RangeFunction function, void* context);

  template <typename F>
  void parallel(int64_t grid, F&& body) {
    auto* pointer = &body;
    parallel(
        grid, [](void* context, int64_t begin, int64_t end) { (*static_cast<decltype(pointer)>(context))(begin, end); },
        const_cast<void*>(static_cast<const void*>(pointer)));
  }

 private:
  struct Shared;
  void stop();

  Shared* shared_ = nullptr;  // null: one thread
};

// CPUs that this process may run on.
int available_cpus();

}  // namespace mxc::core
