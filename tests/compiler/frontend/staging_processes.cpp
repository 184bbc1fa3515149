// What a model's code starts ends with the staging: a child, a child in a session of its own, and a grandchild that nobody waits for.
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: mxc compile %s --emit=graph -o graph.json
// RUN: test $(wc -l < started) = 4
// RUN: for process in $(cat started); do if kill -0 $process; then exit 1; fi; done
// A staging that runs out of time takes them along as well.
// RUN: rm started && %exits 1 mxc compile %s -D ENDLESS --emit=graph --stage-time-limit=2
// RUN: test $(wc -l < started) = 4
// RUN: for process in $(cat started); do if kill -0 $process; then exit 1; fi; done
#include <mxc/mxc.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdio>
using namespace mxc;

void wait_for_ever() {
  for (;;) pause();
}

void note() {
  std::FILE* list = std::fopen("started", "a");
  std::fprintf(list, "%d\n", static_cast<int>(getpid()));
  std::fclose(list);
}

MXC_MODEL(processes) {
  int done[2];
  if (pipe(done) != 0) return;
  for (bool session : {false, true}) {
    if (fork() != 0) continue;
    if (session) setsid();
    note();
    if (fork() == 0) {
      if (session) setsid();
      note();
      if (write(done[1], "x", 1) != 1) _exit(1);
      wait_for_ever();
    }
    if (session) _exit(0);
    wait_for_ever();
  }
  char both[2];
  for (char& one : both)
    if (read(done[0], &one, 1) != 1) return;
#ifdef ENDLESS
  wait_for_ever();
#endif
  input("x", {2});
}
