// Engine: runs operations in the order that their data demands (MXNet, arXiv 1512.01274, section 3.2).
//
// Everything that operations share (an array, a random generator, scratch memory, a socket) is a Variable. An operation names the
// variables that it reads and those that it mutates, and runs as soon as program order allows: many readers or one writer
// at a time, in the order of pushing. Who pushes does not wait; who needs a result waits for its variable.
//
// A staged operation consists of items run in order, and holds each variable only over the items that need it. A compiled graph
// is one (graph_run.h): its first outputs are on their way while its last steps still run, and what waits for them runs between its items if
// no other thread of the lane is free.
//
// Invariants
// 1. A variable grants its holds in the order of pushing: at any time it is held by one writer, or by any number of readers.
// 2. An operation waits only for holds of operations pushed before it (its own holds of one variable do not overlap). So the oldest
//    unfinished operation never waits for another, and there is no deadlock with any number of threads.
// 3. No thread of a lane blocks for a variable: an operation that misses one leaves its thread, and is queued again by the grant
//    of the last that it misses.
// 4. Bodies run, and are destroyed, without the engine's lock; of one operation on one thread at a time, with the lock taken in
//    between, which orders memory: what one operation wrote, the next holder sees.
// 5. A variable's error is read and written only under the lock by an operation that holds the variable, and taken off when an operation is
//    granted a hold that nobody else shares: so it is a value like the variable's data, and which operations fail does not depend on timing.
// 6. An operation runs on the thread that pushes it only if it is cheap, has all its holds, and its lane is idle: it overtakes nothing,
//    and the pushing thread is outside of all bodies, so that nothing waits for itself.
// 7. The naive engine runs each operation whole, in the order of pushing, and keeps no queues: it is the oracle of the others.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/core/fork_mark.h"
#include "runtime/core/plan.h"
#include "runtime/core/thread_pool.h"
#include "runtime/engine/small_function.h"
#include "runtime/engine/trace.h"
#include "runtime/engine/variable.h"

namespace mxc::engine {

using plan::Lane;
constexpr int kLanes = 4;

class Dispatcher;  // what an engine is inside (dispatcher.h)
struct Operation;  // its records (operation.h)

// How an operation is known and scheduled.
struct Traits {
  const char* name = "";  // for errors and the trace; outlives the operation
  Lane lane = Lane::compute;
  int32_t priority = 0;  // larger first among operations of a lane that are ready; then the older first
  // The body takes a microsecond or so and waits for nothing: it may run within `push`, and a thread may take several at once.
  bool cheap = false;
  // All that it mutates without reading it is written whole: it does not matter that the variable carries an error.
  bool anew = false;
  // It is an attempt: an error that it ends with is passing, wherever it comes from. Who takes it over carries a passing error, too.
  bool attempt = false;
  // Nobody has asked for what it makes yet: an error that it ends with counts as a failure (in `wait_all`, `untold`) only from Engine::ask on.
  bool unasked = false;
};

// Which error is taken off a variable, in program order, before an operation holds it.
enum class Forget : uint8_t {
  nothing,     // the operation takes the error over
  passing,     // an attempt failed that was to change the variable: the operation goes on from the value that was there before
  everything,  // the operation writes all of it
};

// Ends an asynchronous operation: called once, from any thread. Dropped without a call, it ends the operation with an error.
// A thread that still has to call one must not wait for the engine, nor push when the run-ahead may be used up.
class Completion {
 public:
  Completion(Completion&& other) noexcept;
  Completion& operator=(Completion&&) = delete;
  ~Completion();
  void operator()(absl::Status status);

 private:
  friend class Dispatcher;
  Completion(Dispatcher* dispatcher, Operation* operation) : dispatcher_(dispatcher), operation_(operation) {}
  Dispatcher* dispatcher_;  // null: called or moved from
  Operation* operation_;
};

// A variable held by a staged operation from before item `first` until after item `last`.
struct Hold {
  Variable variable;
  bool write = false;
  uint32_t first = 0, last = 0;
  Forget forget = Forget::nothing;
};

// Captures of up to so many bytes are queued without an allocation.
constexpr size_t kInlineCapture = 96;
// What an operation does with items [first, end); `done` ends an asynchronous one and is null for the others.
using Body = SmallFunction<absl::Status(uint32_t first, uint32_t end, Completion* done), kInlineCapture>;

class Engine {
 public:
  struct Options {
    bool naive = false;
    int threads[kLanes] = {1, 1, 1, 1};  // of each lane, 1 to 256; ignored if naive
    size_t run_ahead = 4096;             // operations pushed and not ended at which `push` waits, at least 1
  };

  static absl::StatusOr<std::unique_ptr<Engine>> create(const Options& options);
  // Waits for every operation; errors are dropped.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // `name` and `bytes` are what the trace says of it.
  Variable variable(std::string name, uint64_t bytes = 0);

  // Queues `body()`, which returns an absl::Status. `reads` and `mutates` may overlap and repeat; to mutate includes to read.
  // If a named variable carries an error when the operation's turn comes, the body is not called, and the operation ends with that error.
  // An error that the operation ends with is carried by all that it mutates and that carries none yet. One that it made itself begins
  // with its name, as in "add: MESSAGE". A body that throws ends with an error.
  // Allocates nothing once as many operations have been queued at a time, if the body's capture takes at most kInlineCapture bytes.
  // Requires: variables of this engine.
  // Threads: all pushes are callable from any thread, bodies included. A push from outside waits while `run_ahead` operations are
  // unfinished, until half of them have ended. Bodies must not wait for the engine.
  template <typename F>
    requires std::is_invocable_r_v<absl::Status, F&>
  void push(const Traits& traits, Variables reads, Variables mutates, F body) {
    submit(traits, reads, mutates,
           Body([body = std::move(body)](uint32_t, uint32_t, Completion*) mutable -> absl::Status { return body(); }), false);
  }

  // The same for an operation that ends when `start(Completion)` has returned and the completion has been called, in whichever order.
  template <typename F>
    requires std::is_invocable_v<F&, Completion>
  void push_async(const Traits& traits, Variables reads, Variables mutates, F start) {
    submit(traits, reads, mutates, Body([start = std::move(start)](uint32_t, uint32_t, Completion* done) mutable {
             start(std::move(*done));
             return absl::OkStatus();
           }),
           true);
  }

  // Queues an operation of `items` >= 1 items. `body(first, end)` runs items [first, end); calls cover the items in order.
  // When it fails, or a variable acquired for an item carries an error, no later item runs; what it still holds for writing, or
  // would have, carries the error; variables released before do not.
  // Requires: holds sorted by `first`; those of one variable do not overlap in items; last < items.
  template <typename F>
    requires std::is_invocable_r_v<absl::Status, F&, uint32_t, uint32_t>
  void push_staged(const Traits& traits, const std::vector<Hold>& holds, uint32_t items, F body) {
    submit_staged(traits, holds, items,
                  Body([body = std::move(body)](uint32_t first, uint32_t end, Completion*) mutable -> absl::Status {
                    return body(first, end);
                  }));
  }

  // Takes the error off a variable, in program order: operations pushed later run again.
  void recover(const Variable& variable, Forget forget = Forget::everything);

  // The value of a variable that an operation made `unasked` is wanted now: an error that it carries counts, as of a failure at this place.
  void ask(const Variable& variable);

  // Waits until every operation pushed before that mutates the variable has ended (`wait_idle`: and that reads it). Returns the
  // error that the variable carries. Called inside a body of this engine: FailedPrecondition.
  // `tells`: the caller hands an error on to whom it concerns; else it counts as untold.
  absl::Status wait(const Variable& variable, bool tells = true);
  absl::Status wait_idle(const Variable& variable, bool tells = true);

  // Waits for every operation pushed before. Returns the error of the oldest operation that failed since the last call.
  absl::Status wait_all();

  // Waits for every operation pushed before. What failed without anybody having been told of it, by any of the calls above: the error of the
  // oldest such operation, and how many there are (at most kMostUntold). An error that others took over is told with theirs.
  struct Untold {
    absl::Status oldest;
    size_t operations = 0;
  };
  static constexpr size_t kMostUntold = 1000;
  Untold untold();

  // Called in the body of a compute operation: runs `work(begin, end)` on ranges that partition [0, grid), and returns when all have
  // ended. If nothing else runs in the compute lane, as many threads as it has take part (of a pool that is made at the first call); else,
  // and in a naive engine, this thread alone, in one call. So no result may depend on the partition.
  // Requires: `work` does not throw, and leaves the engine alone.
  template <typename F>
    requires std::is_invocable_v<F&, int64_t, int64_t>
  void share(int64_t grid, F&& work) {
    if (core::ThreadPool* pool = idle_threads()) return pool->parallel(grid, work);
    if (grid > 0) work(0, grid);
  }

  // Records what runs, and who waits, into `trace` from now on (null: no more). It must outlive its use; call while nothing runs.
  void set_trace(Trace* trace);
  Trace* trace();

  // An engine does not survive a fork: its threads are not in the child, and what it was doing is unknown. In the child process
  // this is true, pushes do nothing (the body is dropped without a call), waits return FailedPrecondition, and the destructor leaves
  // everything as it is. The parent notices nothing. A child makes an engine of its own; `default_engine` does.
  bool inherited() const { return mark_.inherited(); }

 private:
  explicit Engine(const Options& options);
  void submit(const Traits& traits, Variables reads, Variables mutates, Body&& body, bool asynchronous);
  void submit_staged(const Traits& traits, const std::vector<Hold>& holds, uint32_t items, Body&& body);

  core::ThreadPool* idle_threads();

  const core::ForkMark mark_;
  std::unique_ptr<Dispatcher> dispatcher_;
};

}  // namespace mxc::engine
