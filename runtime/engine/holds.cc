// Who holds what: holds are queued (`enqueue`), granted in order, asked for before an item, and released after one.

#include "runtime/engine/dispatcher.h"
#include "runtime/engine/running.h"

namespace mxc::engine {

void free_variable(VariableReferences* variable) { delete static_cast<VariableState*>(variable); }

// A variable named again is held once, for writing if any of its names says so. What is read first is not written anew.
void Dispatcher::add_hold(Operation& operation, VariableReferences* variable, bool write, Forget forget) {
  VariableState& state = *static_cast<VariableState*>(variable);
  if (state.named_by == operation.sequence) {
    operation.entries[state.named_at].write |= write;
    return;
  }
  state.named_by = operation.sequence;
  state.named_at = operation.entries.size();
  operation.entries.push_back({&state, &operation, 0, 0, write, forget});
}

// Puts the operation's holds into the queues of their variables.
void Dispatcher::enqueue(Operation& operation) {
  for (Entry& entry : operation.entries) {
    VariableState& variable = *entry.variable;
    // Relaxed: a handle that the caller has keeps the record alive meanwhile.
    if (variable.entries++ == 0) variable.count.fetch_add(1, std::memory_order_relaxed);
    if (options_.naive) {
      entry.granted = true;
      continue;
    }
    (variable.first_waiting == nullptr ? variable.first_waiting : variable.last_waiting->next) = &entry;
    variable.last_waiting = &entry;
    grant_waiting(variable);
  }
}

// Grants what the queue's head allows. A waiter that is granted ends at once and may come back here for the same variable: the
// state is consistent whenever `schedule` is called.
void Dispatcher::grant_waiting(VariableState& variable) {
  while (variable.first_waiting != nullptr) {
    Entry& entry = *variable.first_waiting;
    const bool alone = entry.write || variable.is_forgotten(entry.forget);
    if (variable.writer || (alone && variable.readers > 0)) return;
    variable.forget_error(entry.forget);
    variable.first_waiting = entry.next;
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
bool Dispatcher::acquire(Operation& operation) {
  for (; operation.acquired < operation.entries.size(); ++operation.acquired) {
    Entry& entry = operation.entries[operation.acquired];
    if (entry.first > operation.next_item) break;
    if (options_.naive) entry.variable->forget_error(entry.forget);  // nothing else is under way
    if (entry.granted) continue;
    entry.awaited = true;
    ++operation.missing;
  }
  return operation.missing == 0;
}

// Gives back the holds whose last item has ended, with the operation's error if it wrote. An older error stays: it may be no passing one.
void Dispatcher::release_ended(Operation& operation) {
  for (; operation.released < operation.entries.size(); ++operation.released) {
    const Entry& entry = operation.entry_by_last(operation.released);
    if (entry.last >= operation.next_item) return;
    VariableState& variable = *entry.variable;
    if (entry.write && !operation.status.ok() && variable.error.ok()) {
      variable.error = operation.status;
      variable.error_passes = operation.error_passes || operation.traits.attempt;
      variable.error_from = operation.error_from;
    }
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
void Dispatcher::schedule(Operation& operation) {
  if (operation.waiter != nullptr) {
    operation.note_errors();
    Waiter& waiter = *operation.waiter;
    waiter.status = detached(operation.status);
    waiter.told = operation.error_from;
    leave_stage(operation, 1);
    finish(waiter);
    return;
  }
  LaneState& lane = lanes_[static_cast<int>(operation.traits.lane)];
  lane.ready.push(&operation);
  // Relaxed, by a holder of the lock: a thread that sees the new count takes the lock to see the rest.
  lane.posted.store(lane.posted.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  const size_t awake = (lane.watched ? 1 : 0) + (returning_ == &lane ? 1 : 0);
  if (lane.sleeping > 0 && lane.ready.size() > awake) lane.work.notify_one();
}

// Items before `end` have ended. True if the operation has to leave its thread: it ended, or misses a hold.
bool Dispatcher::leave_stage(Operation& operation, uint32_t end) {
  operation.next_item = end;
  const bool ends = end == operation.items;
  returning_ = ends && !inside_body() ? own_lane : nullptr;
  release_ended(operation);
  returning_ = nullptr;
  if (!ends) return !acquire(operation);
  retire(operation);
  return true;
}

void Dispatcher::retire(Operation& operation) {
  for (const Entry& entry : operation.entries) {
    // Acquire and release, as handles do.
    if (--entry.variable->entries == 0 && entry.variable->count.fetch_sub(1, std::memory_order_acq_rel) == 1) free_variable(entry.variable);
  }
  (operation.older == nullptr ? oldest_ : operation.older->newer) = operation.newer;
  (operation.newer == nullptr ? newest_ : operation.newer->older) = operation.older;
  --unfinished_;
  operation.reset();
  operation.next = free_;
  free_ = &operation;
  if (full_ && unfinished_ <= options_.run_ahead / 2) {
    full_ = false;
    room_.notify_all();
  }
  for (Waiter** place = &all_waiters_; *place != nullptr;) {
    Waiter& waiter = **place;
    if (oldest_ != nullptr && oldest_->sequence <= waiter.last) {
      place = &waiter.next;
    } else {
      *place = waiter.next;
      finish(waiter);
    }
  }
}

}  // namespace mxc::engine
