// The engine's records: what a variable and an operation are inside. Used by engine.cc alone; all guarded by the engine's lock.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/engine/engine.h"

namespace mxc::engine {

// One hold in a variable's queue.
struct Entry {
  Operation* operation;
  std::shared_ptr<VariableState> variable;
  bool write;
  uint32_t first, last;  // items
  bool granted = false;
  bool awaited = false;  // the operation stands before item `first` and counts this entry in `missing`
};

struct VariableState {
  std::string name;
  std::deque<Entry*> waiting;  // not yet granted, in the order of pushing
  uint32_t readers = 0;        // granted and not released
  bool writer = false;
  absl::Status error;
  uint64_t named_by = 0;       // sequence of the operation that last named it, and the place among its entries:
  size_t named_at = 0;         // finds repeated names
};

// What a thread in `wait` looks at.
struct WaitResult {
  bool done = false;
  absl::Status status;
};

struct Operation {
  Traits traits;
  uint64_t sequence = 0;               // in the order of pushing, from 1
  Operation *older = nullptr, *newer = nullptr;

  // Exactly one of these: a body over items, an asynchronous start, a waiting thread; none: nothing to run (recover).
  std::function<absl::Status(uint32_t, uint32_t)> body;
  std::function<void(Completion)> start;
  WaitResult* waiter = nullptr;
  bool clears_errors = false;
  int open_ends = 0;                   // of a started asynchronous operation

  std::vector<Hold> holds;             // moved into `entries` when enqueued
  bool merge_names = true;             // the same variable may be named several times
  std::vector<Entry> entries;          // sorted by `first`; never resized once enqueued
  std::vector<uint32_t> by_last;       // the same sorted by `last`
  uint32_t items = 1, next_item = 0;
  size_t acquired = 0, checked = 0;    // entries[0, acquired) begin at or before next_item; errors of [0, checked) are noted
  size_t released = 0;                 // by_last[0, released) have ended
  size_t missing = 0;                  // awaited entries that are not granted
  absl::Status status;
  int64_t began = 0;                   // for the trace

  // The item before which entries have to be acquired or released next.
  uint32_t stage_end() const {
    uint32_t end = items;
    if (acquired < entries.size()) end = std::min(end, entries[acquired].first);
    if (released < by_last.size()) end = std::min(end, entries[by_last[released]].last + 1);
    return end;
  }

  // Takes over the first error among variables acquired since the last call.
  void note_errors() {
    for (; checked < acquired; ++checked) {
      const absl::Status& error = entries[checked].variable->error;
      if (status.ok() && !clears_errors) status = error;
    }
  }
};

}  // namespace mxc::engine
