// Engine: runs operations in the order that their data demands (MXNet, arXiv 1512.01274, section 3.2).
//
// Everything that operations share (an array, a random generator, scratch memory, a socket) is a Variable. An operation names the
// variables that it reads and those that it mutates, and runs as soon as program order allows: many readers or one writer
// at a time, in the order of pushing. Who pushes does not wait; who needs a result waits for its variable.
//
// A staged operation consists of items run in order, and holds each variable only over the items that need it. A compiled graph
// is one (graph_run.h): its first outputs are on their way while its last steps still run.
//
// Invariants
// 1. A variable grants its holds in the order of pushing: at any time it is held by one writer, or by any number of readers.
// 2. An operation waits only for holds of operations pushed before it (its own holds of one variable do not overlap). So the oldest
//    unfinished operation never waits for another, and there is no deadlock with any number of threads.
// 3. No thread of a lane blocks for a variable: an operation that misses one leaves its thread, and is queued again by the grant
//    of the last that it misses.
// 4. Bodies run, and are destroyed, without the engine's lock; of one operation on one thread at a time, with the lock taken in
//    between, which orders memory: what one operation wrote, the next holder sees.
// 5. A variable's error is read and written only under the lock by an operation that holds the variable: so it is a value like the
//    variable's data, and which operations fail does not depend on timing.
// 6. The naive engine runs each operation whole, in the order of pushing, and keeps no queues: it is the oracle of the others.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/core/plan.h"
#include "runtime/engine/trace.h"

namespace mxc::engine {

using plan::Lane;
constexpr int kLanes = 4;

class Engine;
// The engine's records (operation.h).
struct Operation;
struct VariableState;

// A handle to a resource known to one engine; copies mean the same resource. It lives while a handle or an operation names it.
class Variable {
 public:
  Variable() = default;  // no variable
  explicit operator bool() const { return state_ != nullptr; }
  bool operator==(const Variable& other) const { return state_ == other.state_; }

 private:
  friend class Engine;
  std::shared_ptr<VariableState> state_;
};

// How an operation is known and scheduled.
struct Traits {
  std::string name = {};  // for errors and the trace
  Lane lane = Lane::compute;
  int32_t priority = 0;  // larger first among operations of a lane that are ready; then the older first
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
  friend class Engine;
  Completion(Engine* engine, Operation* operation) : engine_(engine), operation_(operation) {}
  Engine* engine_;  // null: called or moved from
  Operation* operation_;
};

// A variable held by a staged operation from before item `first` until after item `last`.
struct Hold {
  Variable variable;
  bool write = false;
  uint32_t first = 0, last = 0;
};

class Engine {
 public:
  struct Options {
    bool naive = false;
    int threads[kLanes] = {1, 1, 1, 1};  // of each lane, at least 1; ignored if naive
    size_t run_ahead = 4096;             // operations pushed and not ended at which `push` waits, at least 1
  };

  static absl::StatusOr<std::unique_ptr<Engine>> create(const Options& options);
  // Waits for every operation; errors are dropped.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Variable variable(std::string name);

  // Queues `body`. `reads` and `mutates` may overlap and repeat; to mutate includes to read.
  // If a named variable carries an error when the operation's turn comes, the body is not called, and the operation ends with that error.
  // An error that the operation ends with is carried by all that it mutates. A body that throws ends with an error.
  // Threads: all pushes are callable from any thread, bodies included. A push from outside waits while `run_ahead` operations are
  // unfinished. Bodies must not wait for the engine.
  void push(Traits traits, const std::vector<Variable>& reads, const std::vector<Variable>& mutates,
            std::function<absl::Status()> body);

  // The same for an operation that ends when `start` has returned and the completion has been called, in whichever order.
  void push_async(Traits traits, const std::vector<Variable>& reads, const std::vector<Variable>& mutates,
                  std::function<void(Completion)> start);

  // Queues an operation of `items` >= 1 items. `body(first, end)` runs items [first, end); calls cover the items in order.
  // When it fails, or a variable acquired for an item carries an error, no later item runs; what it still holds for writing, or
  // would have, carries the error; variables released before do not.
  // Requires: holds sorted by `first`; those of one variable do not overlap in items; last < items.
  void push_staged(Traits traits, std::vector<Hold> holds, uint32_t items,
                   std::function<absl::Status(uint32_t first, uint32_t end)> body);

  // Takes the error off a variable, in program order: operations pushed later run again.
  void recover(const Variable& variable);

  // Waits until every operation pushed before that mutates the variable has ended (`wait_idle`: and that reads it). Returns the
  // error that the variable carries. Called inside a body of this engine: FailedPrecondition.
  absl::Status wait(const Variable& variable);
  absl::Status wait_idle(const Variable& variable);

  // Waits for every operation pushed before. Returns the error of the oldest operation that failed since the last call.
  absl::Status wait_all();

  // Records what runs into `trace` from now on (null: no more). It must outlive its use; call while nothing runs.
  void set_trace(Trace* trace);
  Trace* trace();

 private:
  friend class Completion;
  struct LaneQueue;
  using Lock = std::unique_lock<std::mutex>;

  explicit Engine(const Options& options);
  absl::Status start_threads();
  void lane_main(int lane, int number);

  // All that follow require the lock; those that take it as an argument give it away meanwhile.
  void submit(std::unique_ptr<Operation> operation, Lock& lock);
  void wait_for_room(Lock& lock);
  void enqueue(Operation& operation);
  bool acquire(Operation& operation);
  void release_ended(Operation& operation);
  void grant_waiting(VariableState& variable);
  void schedule(Operation& operation);
  void run(Operation& operation, Lock& lock);
  void run_stage(Operation& operation, uint32_t end, Lock& lock);
  void start_asynchronous(Operation& operation, Lock& lock);
  void fail(Operation& operation, absl::Status status);
  bool leave_stage(Operation& operation, uint32_t end);
  void retire(Operation& operation);
  void drain(Lock& lock);

  void complete(Operation& operation, absl::Status status);
  absl::Status wait_for(const Variable& variable, bool write);
  bool inside_body() const;

  const Options options_;
  std::vector<std::thread> threads_;

  std::mutex mutex_;                    // guards all below, every VariableState and every Operation outside its body
  std::condition_variable progress_;    // an operation ended
  Operation* oldest_ = nullptr;         // unfinished operations, linked in the order of pushing
  Operation* newest_ = nullptr;
  size_t unfinished_ = 0;
  uint64_t next_sequence_ = 0;
  uint64_t failed_sequence_ = 0;        // of first_error_
  absl::Status first_error_;
  std::unique_ptr<LaneQueue[]> lanes_;  // ready operations
  Trace* trace_ = nullptr;
  bool draining_ = false;               // naive: a thread runs the queue
  bool stopping_ = false;
};

}  // namespace mxc::engine
