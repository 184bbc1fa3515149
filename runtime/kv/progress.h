// Progress: does a program go on? Its threads that answer the network do so also when the one that trains stands still for ever: on a lock, in a
// call that does not come back.
//
// A program goes on when it asks its store for something (push, pull, barrier, ...), and when it computes: when its process has used a two hundredth of
// one CPU since the last look, which hearing and saying that everybody lives does not take, and which a machine grants that is loaded two hundred times over. So a step
// may take as long as it likes. While it waits for others it does neither, and that is told, too: who waits is not the one who stands still.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/kv/worker.h"

namespace mxc::kv {

// How far a program is.
struct Progress {
  uint64_t step = 0;   // the last that it has begun
  uint64_t moves = 0;  // another number when it has gone on
  bool waits = false;  // for others
  std::string last;    // what it did last: "push of 'a'"; empty: nothing yet
};

// Counts moves of this process's program. Threads: one at a time.
class Moves {
 public:
  // A look at the process at this time: `asked` counts what its program has asked of the store, `computed` is the time that all its threads have spent on
  // CPUs. Returns the moves so far.
  uint64_t look(Time now, uint64_t asked, Duration computed, bool waits);

 private:
  Time looked_{};
  Duration computed_{};
  uint64_t asked_ = 0, moves_ = 0;
};

// The time that this process's threads have spent on CPUs.
Duration computed_by_process();

}  // namespace mxc::kv
