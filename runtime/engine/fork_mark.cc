// A child process is a generation younger than its parent. The system calls `count_generation` in the child before `fork` returns there.
#include "runtime/engine/fork_mark.h"

#include <pthread.h>

namespace mxc::engine {

namespace {

// Changed only while the process has a single thread: in the child of a fork, before `fork` returns.
int generation = 0;

void count_generation() { ++generation; }

}  // namespace

ForkMark::ForkMark() {
  static const int registered = pthread_atfork(nullptr, nullptr, count_generation);  // once a process
  (void)registered;
  generation_ = generation;
}

bool ForkMark::inherited() const { return generation_ != generation; }

}  // namespace mxc::engine
