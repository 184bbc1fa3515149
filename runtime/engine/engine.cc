// One lock, one queue per variable, one heap of ready operations per lane. Whole graphs are single operations, so the lock is
// taken a few times a training step, not once a kernel.
#include "runtime/engine/engine.h"

#include <pthread.h>

#include <cassert>
#include <exception>
#include <numeric>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/engine/operation.h"

namespace mxc::engine {

namespace {

// The engine of whose operations this thread runs a body.
thread_local const Engine* running_engine = nullptr;

const char* lane_name(Lane lane) {
  constexpr const char* kNames[kLanes] = {"compute", "copy", "network", "io"};
  return kNames[static_cast<int>(lane)];
}

// The operation that is to run first is the largest.
bool runs_later(const Operation* a, const Operation* b) {
  if (a->traits.priority != b->traits.priority) return a->traits.priority < b->traits.priority;
  return a->sequence > b->sequence;
}

// Calls user code; exceptions end here.
template <typename Call>
absl::Status guarded(const std::string& name, Call call) {
  try {
    return call();
  } catch (const std::exception& exception) {
    return absl::InternalError(absl::StrCat("operation '", name, "': ", exception.what()));
  } catch (...) {
    return absl::InternalError(absl::StrCat("operation '", name, "': threw"));
  }
}

// A copy that shares no memory with the engine's: it may be read and dropped without the lock.
absl::Status detached(const absl::Status& status) { return absl::Status(status.code(), status.message()); }

}  // namespace

struct Engine::LaneQueue {
  std::vector<Operation*> ready;  // a heap by `runs_later`
  std::condition_variable some;
};

Completion::Completion(Completion&& other) noexcept
    : engine_(std::exchange(other.engine_, nullptr)), operation_(other.operation_) {}

Completion::~Completion() {
  if (engine_ != nullptr) (*this)(absl::InternalError("an asynchronous operation was dropped without completion"));
}

void Completion::operator()(absl::Status status) {
  assert(engine_ != nullptr);
  std::exchange(engine_, nullptr)->complete(*operation_, std::move(status));
}

absl::StatusOr<std::unique_ptr<Engine>> Engine::create(const Options& options) {
  for (int threads : options.threads) {
    if (threads < 1 || threads > 256) return absl::InvalidArgumentError("engine: a lane needs 1 to 256 threads");
  }
  if (options.run_ahead < 1) return absl::InvalidArgumentError("engine: run_ahead is 0");
  std::unique_ptr<Engine> engine(new Engine(options));
  absl::Status status = options.naive ? absl::OkStatus() : engine->start_threads();
  if (!status.ok()) return status;
  return engine;
}

Engine::Engine(const Options& options) : options_(options), lanes_(new LaneQueue[kLanes]) {}

Engine::~Engine() {
  {
    Lock lock(mutex_);
    progress_.wait(lock, [this] { return oldest_ == nullptr; });
    stopping_ = true;
    for (int lane = 0; lane < kLanes; ++lane) lanes_[lane].some.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

absl::Status Engine::start_threads() {
  try {
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int number = 0; number < options_.threads[lane]; ++number) threads_.emplace_back(&Engine::lane_main, this, lane, number);
    }
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(absl::StrCat("engine: cannot start a thread: ", error.what()));
  }
  return absl::OkStatus();
}

void Engine::lane_main(int lane, int number) {
  // For debuggers and the trace; at most 15 characters, cut beyond.
  std::string name = absl::StrCat(lane_name(static_cast<Lane>(lane)), " ", number);
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
  LaneQueue& queue = lanes_[lane];
  Lock lock(mutex_);
  while (true) {
    queue.some.wait(lock, [&] { return stopping_ || !queue.ready.empty(); });
    if (queue.ready.empty()) return;
    std::pop_heap(queue.ready.begin(), queue.ready.end(), runs_later);
    Operation& operation = *queue.ready.back();
    queue.ready.pop_back();
    run(operation, lock);
  }
}

Variable Engine::variable(std::string name) {
  Variable variable;
  variable.state_ = std::make_shared<VariableState>();
  variable.state_->name = std::move(name);
  return variable;
}

void Engine::set_trace(Trace* trace) {
  Lock lock(mutex_);
  trace_ = trace;
}

Trace* Engine::trace() {
  Lock lock(mutex_);
  return trace_;
}

namespace {

std::unique_ptr<Operation> plain_operation(Traits traits, const std::vector<Variable>& reads,
                                           const std::vector<Variable>& mutates) {
  auto operation = std::make_unique<Operation>();
  operation->traits = std::move(traits);
  for (const Variable& variable : reads) operation->holds.push_back({variable, false, 0, 0});
  for (const Variable& variable : mutates) operation->holds.push_back({variable, true, 0, 0});
  return operation;
}

}  // namespace

void Engine::push(Traits traits, const std::vector<Variable>& reads, const std::vector<Variable>& mutates,
                  std::function<absl::Status()> body) {
  auto operation = plain_operation(std::move(traits), reads, mutates);
  operation->body = [body = std::move(body)](uint32_t, uint32_t) { return body(); };
  Lock lock(mutex_);
  submit(std::move(operation), lock);
}

void Engine::push_async(Traits traits, const std::vector<Variable>& reads, const std::vector<Variable>& mutates,
                        std::function<void(Completion)> start) {
  auto operation = plain_operation(std::move(traits), reads, mutates);
  operation->start = std::move(start);
  Lock lock(mutex_);
  submit(std::move(operation), lock);
}

void Engine::push_staged(Traits traits, std::vector<Hold> holds, uint32_t items,
                         std::function<absl::Status(uint32_t first, uint32_t end)> body) {
  auto operation = std::make_unique<Operation>();
  operation->traits = std::move(traits);
  operation->holds = std::move(holds);
  operation->merge_names = false;
  operation->items = items;
  operation->body = std::move(body);
  Lock lock(mutex_);
  submit(std::move(operation), lock);
}

void Engine::recover(const Variable& variable) {
  auto operation = plain_operation({.name = "recover"}, {}, {variable});
  operation->clears_errors = true;
  Lock lock(mutex_);
  submit(std::move(operation), lock);
}

absl::Status Engine::wait(const Variable& variable) { return wait_for(variable, false); }
absl::Status Engine::wait_idle(const Variable& variable) { return wait_for(variable, true); }

absl::Status Engine::wait_for(const Variable& variable, bool write) {
  if (inside_body()) return absl::FailedPreconditionError("a body of an operation waits for its own engine");
  WaitResult result;
  auto operation = std::make_unique<Operation>();
  operation->holds.push_back({variable, write, 0, 0});
  operation->waiter = &result;
  Lock lock(mutex_);
  submit(std::move(operation), lock);
  progress_.wait(lock, [&] { return result.done; });
  return result.status;
}

absl::Status Engine::wait_all() {
  if (inside_body()) return absl::FailedPreconditionError("a body of an operation waits for its own engine");
  Lock lock(mutex_);
  uint64_t last = next_sequence_;
  progress_.wait(lock, [&] { return oldest_ == nullptr || oldest_->sequence > last; });
  failed_sequence_ = 0;
  return detached(std::exchange(first_error_, absl::OkStatus()));
}

bool Engine::inside_body() const { return running_engine == this; }

// Gives an operation its place in program order.
void Engine::submit(std::unique_ptr<Operation> owned, Lock& lock) {
  if (owned->waiter == nullptr) wait_for_room(lock);
  Operation& operation = *owned.release();  // owned by the list of unfinished operations until `retire`
  operation.sequence = ++next_sequence_;
  operation.older = newest_;
  (newest_ == nullptr ? oldest_ : newest_->newer) = &operation;
  newest_ = &operation;
  ++unfinished_;
  enqueue(operation);
  if (options_.naive) {
    if (!draining_) drain(lock);
  } else if (acquire(operation)) {
    schedule(operation);
  }
}

void Engine::wait_for_room(Lock& lock) {
  if (options_.naive || inside_body()) return;
  progress_.wait(lock, [this] { return unfinished_ < options_.run_ahead; });
}

// Puts the operation's holds into the queues of their variables.
void Engine::enqueue(Operation& operation) {
  operation.entries.reserve(operation.holds.size());
  for (Hold& hold : operation.holds) {
    VariableState& variable = *hold.variable.state_;
    if (operation.merge_names && variable.named_by == operation.sequence) {
      operation.entries[variable.named_at].write |= hold.write;
      continue;
    }
    variable.named_by = operation.sequence;
    variable.named_at = operation.entries.size();
    operation.entries.push_back({&operation, std::move(hold.variable.state_), hold.write, hold.first, hold.last});
  }
  operation.holds.clear();
  operation.by_last.resize(operation.entries.size());
  std::iota(operation.by_last.begin(), operation.by_last.end(), 0u);
  std::sort(operation.by_last.begin(), operation.by_last.end(), [&](uint32_t a, uint32_t b) {
    uint32_t last_a = operation.entries[a].last, last_b = operation.entries[b].last;
    return last_a != last_b ? last_a < last_b : a < b;
  });
  for (Entry& entry : operation.entries) {
    if (options_.naive) {
      entry.granted = true;
    } else {
      entry.variable->waiting.push_back(&entry);
      grant_waiting(*entry.variable);
    }
  }
}

// Grants what the queue's head allows. A waiter that is granted ends at once and may come back here for the same variable: the
// state is consistent whenever `schedule` is called.
void Engine::grant_waiting(VariableState& variable) {
  while (!variable.waiting.empty()) {
    Entry& entry = *variable.waiting.front();
    if (variable.writer || (entry.write && variable.readers > 0)) return;
    variable.waiting.pop_front();
    if (entry.write) {
      variable.writer = true;
    } else {
      ++variable.readers;
    }
    entry.granted = true;
    if (entry.awaited && --entry.operation->missing == 0) schedule(*entry.operation);
  }
}

// Asks for the holds that the next item needs; true if the operation has them all.
bool Engine::acquire(Operation& operation) {
  for (; operation.acquired < operation.entries.size(); ++operation.acquired) {
    Entry& entry = operation.entries[operation.acquired];
    if (entry.first > operation.next_item) break;
    if (entry.granted) continue;
    entry.awaited = true;
    ++operation.missing;
  }
  return operation.missing == 0;
}

// Gives back the holds whose last item has ended, with the operation's error if it wrote.
void Engine::release_ended(Operation& operation) {
  for (; operation.released < operation.by_last.size(); ++operation.released) {
    Entry& entry = operation.entries[operation.by_last[operation.released]];
    if (entry.last >= operation.next_item) return;
    VariableState& variable = *entry.variable;
    if (entry.write && (operation.clears_errors || !operation.status.ok())) variable.error = operation.status;
    if (options_.naive) continue;
    if (entry.write) {
      variable.writer = false;
    } else {
      --variable.readers;
    }
    grant_waiting(variable);
  }
}

// The operation has the holds of its next item: to its lane, or, if it is a waiting thread, to its end.
void Engine::schedule(Operation& operation) {
  if (operation.waiter != nullptr) {
    operation.note_errors();
    *operation.waiter = {true, detached(operation.status)};
    leave_stage(operation, 1);
    return;
  }
  LaneQueue& queue = lanes_[static_cast<int>(operation.traits.lane)];
  queue.ready.push_back(&operation);
  std::push_heap(queue.ready.begin(), queue.ready.end(), runs_later);
  queue.some.notify_one();
}

// Runs stages until the operation ends or misses a hold. A stage: items between two points where holds change.
// Requires: the operation has the holds of its next item.
void Engine::run(Operation& operation, Lock& lock) {
  uint32_t end;
  do {
    operation.note_errors();
    end = operation.stage_end();
    if (operation.start && operation.status.ok()) return start_asynchronous(operation, lock);
    if (operation.body || operation.start) run_stage(operation, end, lock);
  } while (!leave_stage(operation, end));
}

// Calls the body, unless the operation has failed, and drops it after its last call: without the lock, because what it captured
// may call the engine on destruction, and before the holds are released.
void Engine::run_stage(Operation& operation, uint32_t end, Lock& lock) {
  Trace* trace = trace_;
  absl::Status status = operation.status;
  bool call = status.ok();
  lock.unlock();
  const Engine* outer = std::exchange(running_engine, this);
  if (call) {
    int64_t began = trace == nullptr ? 0 : Trace::now();
    status = guarded(operation.traits.name, [&] { return operation.body(operation.next_item, end); });
    if (trace != nullptr) trace->add(operation.traits.name, lane_name(operation.traits.lane), began, Trace::now());
  }
  if (!status.ok() || end == operation.items) {
    operation.body = nullptr;
    operation.start = nullptr;
  }
  running_engine = outer;
  lock.lock();
  if (call && !status.ok()) fail(operation, std::move(status));
}

// Two ends stay open: the return of `start` and the completion. Who closes the second ends the operation.
void Engine::start_asynchronous(Operation& operation, Lock& lock) {
  operation.open_ends = 2;
  operation.began = Trace::now();
  lock.unlock();
  const Engine* outer = std::exchange(running_engine, this);
  // A `start` that throws drops its completion on the way, which fails the operation.
  guarded(operation.traits.name, [&] { return operation.start(Completion(this, &operation)), absl::OkStatus(); }).IgnoreError();
  operation.start = nullptr;
  running_engine = outer;
  lock.lock();
  --operation.open_ends;
  if (options_.naive) progress_.wait(lock, [&] { return operation.open_ends == 0; });
  if (operation.open_ends == 0) leave_stage(operation, operation.items);
}

void Engine::complete(Operation& operation, absl::Status status) {
  Lock lock(mutex_);
  if (trace_ != nullptr) trace_->add(operation.traits.name, lane_name(operation.traits.lane), operation.began, Trace::now());
  if (!status.ok()) fail(operation, std::move(status));
  if (--operation.open_ends > 0) return;
  if (options_.naive) {
    progress_.notify_all();  // the draining thread waits for it
  } else {
    leave_stage(operation, operation.items);
  }
}

void Engine::fail(Operation& operation, absl::Status status) {
  operation.status = std::move(status);
  if (failed_sequence_ != 0 && failed_sequence_ < operation.sequence) return;
  failed_sequence_ = operation.sequence;
  first_error_ = operation.status;
}

// Items before `end` have ended. True if the operation has to leave its thread: it ended, or misses a hold.
bool Engine::leave_stage(Operation& operation, uint32_t end) {
  operation.next_item = end;
  release_ended(operation);
  if (end < operation.items) return !acquire(operation);
  retire(operation);
  return true;
}

void Engine::retire(Operation& operation) {
  (operation.older == nullptr ? oldest_ : operation.older->newer) = operation.newer;
  (operation.newer == nullptr ? newest_ : operation.newer->older) = operation.older;
  --unfinished_;
  delete &operation;
  progress_.notify_all();
}

// Naive: runs all that is queued, oldest first.
void Engine::drain(Lock& lock) {
  draining_ = true;
  while (oldest_ != nullptr) {
    Operation& operation = *oldest_;
    bool complete_holds = acquire(operation);
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
