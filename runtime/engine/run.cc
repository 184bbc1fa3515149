// Bodies: called without the lock, one stage after another, or several cheap ones at a time.
#include <algorithm>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/engine/dispatcher.h"
#include "runtime/engine/running.h"

namespace mxc::engine {

namespace {

constexpr size_t kMostInBatch = 16;  // a more urgent operation waits for so many cheap ones at most

// Calls user code; exceptions end here.
absl::Status guarded(Body& body, uint32_t first, uint32_t end, Completion* done) {
  try {
    return body(first, end, done);
  } catch (const std::exception& exception) {
    return absl::InternalError(exception.what());
  } catch (...) {
    return absl::InternalError("threw something that is no std::exception");
  }
}

// While it lives, this thread is inside of bodies.
class InsideBody {
 public:
  explicit InsideBody(const Dispatcher* dispatcher) : outer_(std::exchange(running_dispatcher, dispatcher)) {}
  ~InsideBody() { running_dispatcher = outer_; }

 private:
  const Dispatcher* outer_;
};

}  // namespace

const char* lane_name(Lane lane) {
  constexpr const char* kNames[kLanes] = {"compute", "copy", "network", "io"};
  return kNames[static_cast<int>(lane)];
}

bool Dispatcher::may_run_here(const Operation& operation) {
  const LaneState& lane = lanes_[static_cast<int>(operation.traits.lane)];
  return operation.is_brief() && lane.running.load(std::memory_order_relaxed) == 0 && lane.ready.empty() && !inside_body();
}

core::ThreadPool* Dispatcher::idle_threads() {
  constexpr int kCompute = static_cast<int>(Lane::compute);
  if (options_.naive || options_.threads[kCompute] == 1) return nullptr;
  if (lanes_[kCompute].running.load(std::memory_order_relaxed) > 1) return nullptr;
  std::call_once(pool_made_, [this] { (void)core::ThreadPool::create(options_.threads[kCompute], &pool_); });
  return &pool_;
}

// Runs stages until the operation ends or misses a hold. A stage: items between two points where holds change.
// Requires: the operation has the holds of its next item.
void Dispatcher::run(Operation& operation, Lock& lock) {
  LaneState& lane = lanes_[static_cast<int>(operation.traits.lane)];
  lane.add_running(1);
  bool leaves = false;
  while (!leaves) {
    operation.note_errors();
    if (operation.asks && !operation.status.ok()) count_failure(operation.status, operation.sequence, operation.error_from);
    if (operation.asynchronous && operation.status.ok()) {
      start_asynchronous(operation, lock);
      break;
    }
    const uint32_t end = operation.stage_end();
    if (operation.body) run_stage(operation, end, lock);
    leaves = leave_stage(operation, end);
    if (!leaves) run_handed_on(operation, lane, lock);
  }
  lane.take_running(1);
}

// Between two stages of `operation`: runs what it has just handed on, while that is in this processor's cache, if otherwise it would wait,
// because the lane's threads are all busy. Requires: the operation keeps its thread.
void Dispatcher::run_handed_on(const Operation& operation, LaneState& lane, Lock& lock) {
  const auto busy = [&] { return lane.running.load(std::memory_order_relaxed) >= static_cast<uint32_t>(options_.threads[lane.lane]); };
  const auto goes_first = [&](const Operation& ready) {
    return ready.items == 1 && !ready.asynchronous && ready.traits.priority >= operation.traits.priority;
  };
  while (busy() && !lane.ready.empty() && goes_first(*lane.ready.front())) run_batch(lane, lock);
}

// Calls the body, unless the operation has failed, and drops it after its last call: without the lock, because what it captured
// may call the engine on destruction, and before the holds are released.
void Dispatcher::run_stage(Operation& operation, uint32_t end, Lock& lock) {
  const bool calls = operation.status.ok();
  absl::Status status;
  lock.unlock();
  {
    InsideBody inside(this);
    if (calls) status = call(operation, end);
    if (!calls || !status.ok() || end == operation.items) operation.body.reset();
  }
  relock(lock);
  if (!status.ok()) fail(operation, status);
}

absl::Status Dispatcher::call(Operation& operation, uint32_t end) {
  Trace* traced = trace();
  if (traced == nullptr) return guarded(operation.body, operation.next_item, end, nullptr);
  const int64_t began = Trace::now();
  absl::Status status = guarded(operation.body, operation.next_item, end, nullptr);
  traced->add(operation.traits.name, lane_name(operation.traits.lane), began, Trace::now(), operation.sizes());
  return status;
}

// Takes the first ready operation and, if it is cheap, as many cheap ones behind it as leave enough for the lane's other threads: one
// pair of locks for all. Requires: some are ready.
void Dispatcher::run_batch(LaneState& lane, Lock& lock) {
  Operation* batch[kMostInBatch];
  size_t count = 0;
  const size_t share = lane.ready.size() / static_cast<size_t>(options_.threads[lane.lane]);
  const size_t limit = std::clamp<size_t>(share, 1, kMostInBatch);
  while (count < limit && !lane.ready.empty() && lane.ready.front()->is_brief()) batch[count++] = lane.ready.pop();
  if (count <= 1) return run(count == 1 ? *batch[0] : *lane.ready.pop(), lock);
  absl::Status statuses[kMostInBatch];
  for (size_t i = 0; i < count; ++i) batch[i]->note_errors();
  lane.add_running(static_cast<uint32_t>(count));
  lock.unlock();
  {
    InsideBody inside(this);
    for (size_t i = 0; i < count; ++i) {
      Operation& operation = *batch[i];
      if (operation.status.ok()) statuses[i] = call(operation, 1);
      operation.body.reset();
    }
  }
  relock(lock);
  for (size_t i = 0; i < count; ++i) {
    if (!statuses[i].ok()) fail(*batch[i], statuses[i]);
    leave_stage(*batch[i], 1);
  }
  lane.take_running(static_cast<uint32_t>(count));
}

// Two ends stay open: the return of the body and the completion. Who closes the second ends the operation.
void Dispatcher::start_asynchronous(Operation& operation, Lock& lock) {
  operation.open_ends = 2;
  if (trace() != nullptr) operation.began = Trace::now();
  lock.unlock();
  {
    InsideBody inside(this);
    Completion completion(this, &operation);
    // A body that throws drops its completion on the way, which fails the operation.
    guarded(operation.body, 0, operation.items, &completion).IgnoreError();
    operation.body.reset();
  }
  relock(lock);
  --operation.open_ends;
  if (options_.naive) completed_.wait(lock, [&] { return operation.open_ends == 0; });
  if (operation.open_ends == 0) leave_stage(operation, operation.items);
}

void Dispatcher::complete(Operation& operation, absl::Status status) {
  Lock lock = locked();
  if (Trace* traced = trace()) {
    traced->add(operation.traits.name, lane_name(operation.traits.lane), operation.began, Trace::now(), operation.sizes());
  }
  if (!status.ok()) fail(operation, status);
  if (--operation.open_ends > 0) return;
  if (options_.naive) {
    completed_.notify_all();  // the draining thread waits for it
  } else {
    leave_stage(operation, operation.items);
  }
}

void Dispatcher::fail(Operation& operation, const absl::Status& status) {
  const char* name = operation.traits.name;
  operation.status = absl::Status(status.code(), absl::StrCat(name, *name == '\0' ? "" : ": ", status.message()));
  operation.error_passes = false;  // it is its own
  operation.error_from = operation.sequence;
  if (!operation.traits.unasked) count_failure(operation.status, operation.sequence, operation.sequence);
}

// A failure at the place `sequence`; who is told of the error of operation `told_as` is told of it.
void Dispatcher::count_failure(const absl::Status& status, uint64_t sequence, uint64_t told_as) {
  if (untold_.size() < Engine::kMostUntold) untold_.emplace_back(told_as, detached(status));
  if (failed_sequence_ != 0 && failed_sequence_ < sequence) return;
  failed_sequence_ = sequence;
  first_error_ = status;
}

}  // namespace mxc::engine
