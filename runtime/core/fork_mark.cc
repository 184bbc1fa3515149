// A child process is a generation younger than its parent. The system calls `count_generation` in the child before `fork` returns there.
#include "runtime/core/fork_mark.h"

#include <pthread.h>

namespace mxc::core {

namespace {

// Changed only while the process has a single thread: in the child of a fork, before `fork` returns.
int generation = 0;
pthread_once_t registered = PTHREAD_ONCE_INIT;  // once a process

void count_generation() { ++generation; }
void register_count() { pthread_atfork(nullptr, nullptr, count_generation); }

}  // namespace

ForkMark::ForkMark() {
  pthread_once(&registered, register_count);
  generation_ = generation;
}

bool ForkMark::inherited() const { return generation_ != generation; }

}  // namespace mxc::core
