// What a forked child does, seen by its parent.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MXC_THREAD_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define MXC_THREAD_SANITIZER 1
#endif

namespace mxc {

// Runs `check` in a forked child; what it returns is the exit code. A child that hangs is killed.
template <typename Check>
int in_child(Check check) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(check());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

}  // namespace mxc
