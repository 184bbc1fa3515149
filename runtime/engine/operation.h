// The engine's records: what a variable and an operation are inside. Used by the dispatcher alone; all guarded by its lock unless noted.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <string>
#include <vector>

#include "runtime/engine/engine.h"

namespace mxc::engine {

// A copy of an error that shares no memory with the engine's: it may be read and dropped without the lock.
inline absl::Status detached(const absl::Status& status) {
  return status.ok() ? absl::OkStatus() : absl::Status(status.code(), status.message());
}

// One hold of an unfinished operation.
struct Entry {
  VariableState* variable;
  Operation* operation;
  uint32_t first, last;  // items
  bool write;
  Forget forget = Forget::nothing;
  bool granted = false;
  bool awaited = false;   // the operation stands before item `first` and counts this entry in `missing`
  Entry* next = nullptr;  // in the variable's queue
};

struct VariableState : VariableReferences {
  const std::string name;
  const uint64_t bytes;
  uint32_t entries = 0;                               // of unfinished operations; above 0 they count as one reference
  Entry *first_waiting = nullptr, *last_waiting = nullptr;  // not yet granted, in the order of pushing
  uint32_t readers = 0;                               // granted and not released
  bool writer = false;
  absl::Status error;
  bool error_passes = false;                          // the error is an attempt's
  uint64_t error_from = 0;                            // the sequence of the operation that made it
  uint64_t named_by = 0;  // sequence of the operation that last named it, and the place among its entries: finds repeated names
  size_t named_at = 0;

  VariableState(std::string name, uint64_t bytes) : name(std::move(name)), bytes(bytes) {}

  // Does it carry an error that `forget` takes off?
  bool is_forgotten(Forget forget) const {
    if (forget == Forget::nothing || error.ok()) return false;
    return forget == Forget::everything || error_passes;
  }
  void forget_error(Forget forget) {
    if (is_forgotten(forget)) error = absl::OkStatus();
  }
};

// A thread that waits, on its stack.
struct Waiter {
  std::atomic<bool> done{false};  // set under the lock; looked at without it by acquire, after which the lock is taken all the same
  std::condition_variable wake;
  absl::Status status;
  uint64_t told = 0;  // the sequence of the operation that made the error of `status`
  uint64_t last = 0;  // wait_all: until every operation up to this sequence has ended
  Waiter* next = nullptr;
};

struct Operation {
  Traits traits;
  uint64_t sequence = 0;  // in the order of pushing, from 1
  Operation *older = nullptr, *newer = nullptr;
  Operation* next = nullptr;  // in the run of a ready queue, or in the list of free records

  // A body, or a waiting thread; neither: nothing to run (recover, ask).
  Body body;
  bool asynchronous = false;  // the body starts it, and its completion ends it
  bool asks = false;          // without a body: an error of its variable begins to count
  Waiter* waiter = nullptr;
  int open_ends = 0;  // of a started asynchronous operation

  std::vector<Entry> entries;     // sorted by `first`; never resized once enqueued
  std::vector<uint32_t> by_last;  // the same sorted by `last`; empty: in the order of `entries`
  uint32_t items = 1, next_item = 0;
  size_t acquired = 0, checked = 0;  // entries[0, acquired) begin at or before next_item; errors of [0, checked) are noted
  size_t released = 0;               // so many have ended, in the order of `by_last`
  size_t missing = 0;                // awaited entries that are not granted
  absl::Status status;
  bool error_passes = false;         // `status` is an attempt's
  uint64_t error_from = 0;           // the sequence of the operation that made it
  int64_t began = 0;  // for the trace

  const Entry& entry_by_last(size_t i) const { return entries[by_last.empty() ? i : by_last[i]]; }

  // One item and no wait inside: may run in a batch or on the pushing thread if it is cheap.
  bool is_brief() const { return traits.cheap && items == 1 && !asynchronous && body; }

  // The item before which entries have to be acquired or released next.
  uint32_t stage_end() const {
    uint32_t end = items;
    if (acquired < entries.size()) end = std::min(end, entries[acquired].first);
    if (released < entries.size()) end = std::min(end, entry_by_last(released).last + 1);
    return end;
  }

  // Takes over the first error among variables acquired since the last call.
  void note_errors() {
    for (; checked < acquired; ++checked) {
      const VariableState& variable = *entries[checked].variable;
      if (variable.error.ok() || !status.ok()) continue;
      status = variable.error;
      error_passes = variable.error_passes;
      error_from = variable.error_from;
    }
  }

  // Bytes of the variables that it reads and of those that it mutates.
  Trace::Sizes sizes() const {
    Trace::Sizes sizes;
    for (const Entry& entry : entries) (entry.write ? sizes.written : sizes.read) += entry.variable->bytes;
    return sizes;
  }

  // Makes a free record new; its vectors keep their memory. Requires: the body is gone.
  void reset() {
    entries.clear();
    by_last.clear();
    asynchronous = asks = error_passes = false;
    waiter = nullptr;
    items = 1;
    next_item = 0;
    acquired = checked = released = missing = 0;
    status = absl::OkStatus();
  }
};

}  // namespace mxc::engine
