// Records, pushing and waiting.
#include "runtime/engine/dispatcher.h"

#include <algorithm>
#include <cassert>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/core/spin.h"
#include "runtime/core/thread_pool.h"
#include "runtime/engine/running.h"

namespace mxc::engine {

namespace {

constexpr int64_t kSpinNanoseconds = 20'000;  // a sleep and a wake-up cost a part of that
constexpr int kMostPauses = 64;               // between tries for the lock, which is held for a tenth of a microsecond
constexpr size_t kUsualHolds = 8;             // of an operation; more cost an allocation when a record first needs them

}  // namespace

Dispatcher::Dispatcher(const Engine::Options& options)
    : options_(options), spin_(core::available_cpus() > 1 ? kSpinNanoseconds : 0) {
  for (int i = 0; i < kLanes; ++i) lanes_[i].lane = i;
}

Dispatcher::~Dispatcher() {
  bool idle = false;
  while (!idle) {
    wait_all().IgnoreError();
    Lock lock = locked();
    idle = oldest_ == nullptr;  // bodies may have pushed more meanwhile
    if (idle) stop_lanes();
  }
  for (std::thread& thread : threads_) thread.join();
}

void Dispatcher::stop_lanes() {
  stopping_ = true;
  for (LaneState& lane : lanes_) {
    lane.posted.fetch_add(1, std::memory_order_relaxed);
    lane.work.notify_all();
  }
}

absl::Status Dispatcher::start_threads() {
  try {
    for (LaneState& lane : lanes_) {
      for (int number = 0; number < options_.threads[lane.lane]; ++number)
        threads_.emplace_back(&Dispatcher::lane_main, this, std::ref(lane), number);
    }
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(absl::StrCat("engine: cannot start a thread: ", error.what()));
  }
  return absl::OkStatus();
}

// Who holds the lock gives it back sooner than a sleeping thread would wake. Tries grow rarer: each takes the lock's memory from the thread
// that works on it.
Dispatcher::Lock Dispatcher::locked() {
  Lock lock(mutex_, std::defer_lock);
  relock(lock);
  return lock;
}

void Dispatcher::relock(Lock& lock) {
  for (int pauses = 1; spin_ != 0 && pauses <= kMostPauses; pauses *= 2) {
    if (lock.try_lock()) return;
    for (int i = 0; i < pauses; ++i) core::relax();
  }
  lock.lock();
}

bool Dispatcher::inside_body() const { return running_dispatcher == this; }

Operation& Dispatcher::new_operation(const Traits& traits) {
  if (free_ == nullptr) {
    free_ = &records_.emplace_back();
    free_->entries.reserve(kUsualHolds);
    free_->by_last.reserve(kUsualHolds);
  }
  Operation& operation = *std::exchange(free_, free_->next);
  operation.traits = traits;
  operation.sequence = ++next_sequence_;
  return operation;
}

void Dispatcher::push(const Traits& traits, Variables reads, Variables mutates, Body&& body, bool asynchronous) {
  Lock lock = locked();
  wait_for_room(lock);
  Operation& operation = new_operation(traits);
  operation.body = std::move(body);
  operation.asynchronous = asynchronous;
  for (size_t i = 0; i < reads.size(); ++i) add_hold(operation, reads[i], false);
  const Forget forget = traits.anew ? Forget::everything : Forget::nothing;
  for (size_t i = 0; i < mutates.size(); ++i) add_hold(operation, mutates[i], true, forget);
  submit(operation, lock);
}

void Dispatcher::push_staged(const Traits& traits, const std::vector<Hold>& holds, uint32_t items, Body&& body) {
  Lock lock = locked();
  wait_for_room(lock);
  Operation& operation = new_operation(traits);
  operation.body = std::move(body);
  operation.items = items;
  for (const Hold& hold : holds) {
    VariableState* state = static_cast<VariableState*>(Variables(&hold.variable, 1)[0]);
    operation.entries.push_back({state, &operation, hold.first, hold.last, hold.write, hold.forget});
  }
  for (uint32_t i = 0; i < holds.size(); ++i) operation.by_last.push_back(i);
  std::sort(operation.by_last.begin(), operation.by_last.end(), [&](uint32_t a, uint32_t b) {
    const uint32_t last_a = holds[a].last, last_b = holds[b].last;
    return last_a != last_b ? last_a < last_b : a < b;
  });
  submit(operation, lock);
}

void Dispatcher::recover(VariableReferences* variable, Forget forget) {
  Lock lock = locked();
  wait_for_room(lock);
  Operation& operation = new_operation({.name = "recover"});
  add_hold(operation, variable, true, forget);
  submit(operation, lock);
}

// It holds the variable alone: nobody is told of the error before it counts.
void Dispatcher::ask(VariableReferences* variable) {
  Lock lock = locked();
  wait_for_room(lock);
  Operation& operation = new_operation({.name = "ask"});
  operation.asks = true;
  add_hold(operation, variable, true);
  submit(operation, lock);
}

// Gives the operation its place in program order, and runs it if its turn has come and this thread may.
void Dispatcher::submit(Operation& operation, Lock& lock) {
  operation.older = newest_;
  operation.newer = nullptr;
  (newest_ == nullptr ? oldest_ : newest_->newer) = &operation;
  newest_ = &operation;
  ++unfinished_;
  enqueue(operation);
  if (options_.naive) {
    if (!draining_) drain(lock);
  } else if (!acquire(operation)) {
    return;
  } else if (may_run_here(operation)) {
    run(operation, lock);
  } else {
    schedule(operation);
  }
}

void Dispatcher::wait_for_room(Lock& lock) {
  if (options_.naive || inside_body() || serves_operations) return;
  full_ = full_ || unfinished_ >= options_.run_ahead;
  if (!full_) return;
  const int64_t began = Trace::now();
  room_.wait(lock, [this] { return !full_; });
  if (Trace* traced = trace()) traced->add("wait for room", "wait", began, Trace::now());
}

void Dispatcher::finish(Waiter& waiter) {
  waiter.done.store(true, std::memory_order_release);
  waiter.wake.notify_one();
}

void Dispatcher::sleep_until_done(Waiter& waiter, Lock& lock) {
  auto done = [&] { return waiter.done.load(std::memory_order_acquire); };
  if (done()) return;
  lock.unlock();
  core::spin(spin_, done);
  relock(lock);  // also waits until `finish` has ended
  waiter.wake.wait(lock, done);
}

absl::Status Dispatcher::wait_for(VariableReferences* variable, bool write, bool tells) {
  if (inside_body()) return absl::FailedPreconditionError("a body of an operation waits for its own engine");
  VariableState& state = *static_cast<VariableState*>(variable);
  Lock lock = locked();
  const bool is_free = !options_.naive && !state.writer && state.first_waiting == nullptr && (!write || state.readers == 0);
  if (is_free) {
    if (tells && !state.error.ok()) tell(state.error_from);
    return detached(state.error);
  }
  const int64_t began = Trace::now();
  Waiter waiter;
  Operation& operation = new_operation({});
  operation.waiter = &waiter;
  add_hold(operation, variable, write);
  submit(operation, lock);
  sleep_until_done(waiter, lock);
  if (tells && !waiter.status.ok()) tell(waiter.told);
  if (Trace* traced = trace()) traced->add(absl::StrCat("wait for ", state.name), "wait", began, Trace::now());
  return std::move(waiter.status);
}

void Dispatcher::tell(uint64_t sequence) {
  const auto same = [&](const auto& failure) { return failure.first == sequence; };
  untold_.erase(std::remove_if(untold_.begin(), untold_.end(), same), untold_.end());
}

absl::Status Dispatcher::wait_all() {
  if (inside_body()) return absl::FailedPreconditionError("a body of an operation waits for its own engine");
  Lock lock = locked();
  wait_for_all_pushed(lock);
  failed_sequence_ = 0;
  untold_.clear();
  return detached(std::exchange(first_error_, absl::OkStatus()));
}

void Dispatcher::wait_for_all_pushed(Lock& lock) {
  if (oldest_ == nullptr) return;
  const int64_t began = Trace::now();
  Waiter waiter;
  waiter.last = next_sequence_;
  waiter.next = std::exchange(all_waiters_, &waiter);
  sleep_until_done(waiter, lock);
  if (Trace* traced = trace()) traced->add("wait for all", "wait", began, Trace::now());
}

Engine::Untold Dispatcher::untold() {
  if (inside_body()) return {};
  Lock lock = locked();
  wait_for_all_pushed(lock);
  const auto older = [](const auto& a, const auto& b) { return a.first < b.first; };
  const auto oldest = std::min_element(untold_.begin(), untold_.end(), older);
  return {oldest == untold_.end() ? absl::OkStatus() : detached(oldest->second), untold_.size()};
}

// Naive: runs all that is queued, oldest first.
void Dispatcher::drain(Lock& lock) {
  draining_ = true;
  while (oldest_ != nullptr) {
    Operation& operation = *oldest_;
    const bool complete_holds = acquire(operation);
    assert(complete_holds);
    (void)complete_holds;
    if (operation.waiter != nullptr) {
      schedule(operation);
    } else {
      run(operation, lock);
    }
  }
  draining_ = false;
}

}  // namespace mxc::engine
