// Ctrl-C as a question: while an object of this class lives, the first SIGINT (or SIGTERM) only sets a flag that the training loop
// looks at between steps; a second one ends the process as usual. What waits for data that may never come (a pipe) must not do so while
// one lives: nobody would look.
#pragma once

#include <csignal>

namespace mxc::train {

// One at a time. Signals reach the whole process: the flag is the one piece of global state here, as signals demand it.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool requested() const;

 private:
  struct sigaction old_int_, old_term_;
};

}  // namespace mxc::train
