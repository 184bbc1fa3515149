// Dispatcher: what an engine is inside. One lock, one queue of holds per variable, one queue of ready operations per lane.
//
// An operation costs a few hundred nanoseconds or less: records are reused, holds lie in them, a thread that runs out of work spins
// for some microseconds before it sleeps (so that a stream of operations wakes nobody), and takes several cheap operations at once.
// Whole graphs are single operations, so their steps cost nothing here.
//
// Invariants (those of engine.h say what users see)
// 1. A record is in the list of unfinished operations from `submit` to `retire`, else in the list of free ones.
// 2. A ready operation is in the queue of its lane or has a thread that runs it, never both.
// 3. A ready operation never waits while a thread of its lane sleeps unnoticed: when it becomes ready, either a thread that looks for
//    work next will find it (one that spins, or the one that is just ending an operation), or a sleeping one is notified.
// 4. `schedule`, `grant_waiting`, `release_ended` and `retire` never give the lock away: what they see stays consistent.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/engine/operation.h"
#include "runtime/engine/ready_queue.h"

namespace mxc::engine {

class Dispatcher {
 public:
  explicit Dispatcher(const Engine::Options& options);
  ~Dispatcher();  // waits for every operation

  absl::Status start_threads();

  // As of Engine, from anywhere.
  void push(const Traits& traits, Variables reads, Variables mutates, Body&& body, bool asynchronous);
  void push_staged(const Traits& traits, const std::vector<Hold>& holds, uint32_t items, Body&& body);
  void recover(VariableReferences* variable, Forget forget);
  void ask(VariableReferences* variable);
  absl::Status wait_for(VariableReferences* variable, bool write, bool tells);
  absl::Status wait_all();
  Engine::Untold untold();
  void complete(Operation& operation, absl::Status status);
  core::ThreadPool* idle_threads();  // for the one operation of the compute lane that runs; null: there are none
  void set_trace(Trace* trace) { trace_.store(trace, std::memory_order_release); }
  Trace* trace() const { return trace_.load(std::memory_order_acquire); }

 private:
  using Lock = std::unique_lock<std::mutex>;

  struct LaneState {
    ReadyQueue ready;
    std::condition_variable work;
    uint32_t sleeping = 0;            // threads that wait for `work`
    // Operations that have a thread, the pushing one included. Written under the lock; without it, a hint. Relaxed: no data hang on it.
    std::atomic<uint32_t> running{0};
    void add_running(uint32_t count) { running.store(running.load(std::memory_order_relaxed) + count, std::memory_order_relaxed); }
    void take_running(uint32_t count) { running.store(running.load(std::memory_order_relaxed) - count, std::memory_order_relaxed); }
    bool watched = false;             // a thread spins on `posted`
    std::atomic<uint64_t> posted{0};  // counts what became ready. Relaxed: a spinning thread takes the lock before it looks further
    int lane = 0;
  };

  // lanes.cc: threads.
  void lane_main(LaneState& lane, int number);
  void wait_for_work(LaneState& lane, Lock& lock);

  // dispatcher.cc: records, pushing, waiting.
  Lock locked();
  void relock(Lock& lock);
  void stop_lanes();
  bool inside_body() const;
  Operation& new_operation(const Traits& traits);
  void submit(Operation& operation, Lock& lock);
  void wait_for_room(Lock& lock);
  void sleep_until_done(Waiter& waiter, Lock& lock);
  void wait_for_all_pushed(Lock& lock);
  void tell(uint64_t sequence);
  void finish(Waiter& waiter);
  void drain(Lock& lock);

  // holds.cc: who holds what. All require the lock.
  void add_hold(Operation& operation, VariableReferences* variable, bool write, Forget forget = Forget::nothing);
  void enqueue(Operation& operation);
  bool acquire(Operation& operation);
  void release_ended(Operation& operation);
  void grant_waiting(VariableState& variable);
  void schedule(Operation& operation);
  bool leave_stage(Operation& operation, uint32_t end);
  void retire(Operation& operation);

  // run.cc: bodies. `lock` is given away while one runs.
  bool may_run_here(const Operation& operation);
  void run_batch(LaneState& lane, Lock& lock);
  void run(Operation& operation, Lock& lock);
  void run_handed_on(const Operation& operation, LaneState& lane, Lock& lock);
  void run_stage(Operation& operation, uint32_t end, Lock& lock);
  void start_asynchronous(Operation& operation, Lock& lock);
  absl::Status call(Operation& operation, uint32_t end);
  void fail(Operation& operation, const absl::Status& status);
  void count_failure(const absl::Status& status, uint64_t sequence, uint64_t told_as);

  const Engine::Options options_;
  const int64_t spin_;  // nanoseconds; 0 where there is one CPU
  std::once_flag pool_made_;
  core::ThreadPool pool_;  // of one thread until `pool_made_`
  std::vector<std::thread> threads_;
  std::atomic<Trace*> trace_{nullptr};         // release when set, acquire when looked at: who sees it sees it made

  std::mutex mutex_;                           // guards all below, every VariableState and every Operation outside its body
  std::deque<Operation> records_;              // all there are; they stay in place
  Operation* free_ = nullptr;
  Operation* oldest_ = nullptr;                // unfinished operations, linked in the order of pushing
  Operation* newest_ = nullptr;
  size_t unfinished_ = 0;
  uint64_t next_sequence_ = 0;
  uint64_t failed_sequence_ = 0;               // of first_error_; 0: none
  absl::Status first_error_;
  std::deque<std::pair<uint64_t, absl::Status>> untold_;  // failed operations whose error nobody has been told of, oldest failure first
  LaneState lanes_[kLanes];
  const void* returning_ = nullptr;            // the lane (`own_lane`) whose thread ends an operation and then looks for another
  bool full_ = false;                          // run_ahead was reached, and more than half of it is unfinished still
  std::condition_variable room_;               // full_ became false
  Waiter* all_waiters_ = nullptr;              // in wait_all
  std::condition_variable completed_;          // naive: an asynchronous operation ended
  bool draining_ = false;                      // naive: a thread runs the queue
  bool stopping_ = false;
};

const char* lane_name(Lane lane);

}  // namespace mxc::engine
