// The handler calls async-signal-safe functions alone; the folder is read with getdents64, because readdir allocates. The folder is
// flat: intermediate files lie directly in it.
#include "driver/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

#include "frontend/stage/process.h"

namespace mxc::driver {

namespace {

// Written by the one thread that compiles, read by handlers; release and acquire order the text before the pointer.
std::atomic<const char*> folders[4];

struct Entry {  // as the kernel writes it
  uint64_t inode;
  int64_t offset;
  unsigned short bytes;
  unsigned char kind;
  char name[1];
};

void removeFiles(int directory) {
  alignas(Entry) char buffer[4096];
  long count;
  while ((count = syscall(SYS_getdents64, directory, buffer, sizeof buffer)) > 0) {
    for (long at = 0; at < count;) {
      auto* entry = reinterpret_cast<Entry*>(buffer + at);
      unlinkat(directory, entry->name, 0);  // fails for "." and "..", as it should
      at += entry->bytes;
    }
  }
}

void onInterrupt(int number) {
  frontend::endRunningProcess(number);
  removeFoldersOfSignal();
  signal(number, SIG_DFL);
  raise(number);
}

}  // namespace

void installInterruptHandler() {
  struct sigaction action {};
  action.sa_handler = onInterrupt;
  sigfillset(&action.sa_mask);
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    struct sigaction old {};
    if (sigaction(number, nullptr, &old) == 0 && old.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);
  }
}

int removeOnSignal(const char* path) {
  int number = 0;
  for (std::atomic<const char*>& folder : folders) {
    const char* none = nullptr;
    if (folder.compare_exchange_strong(none, path, std::memory_order_release, std::memory_order_relaxed)) return number;
    ++number;
  }
  return -1;
}

void keepOnSignal(int number) {
  if (number >= 0) folders[number].store(nullptr, std::memory_order_release);
}

void removeFoldersOfSignal() {
  for (std::atomic<const char*>& folder : folders) {
    const char* path = folder.exchange(nullptr, std::memory_order_acq_rel);
    int directory = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (directory < 0) continue;
    removeFiles(directory);
    close(directory);
    rmdir(path);
  }
}

}  // namespace mxc::driver
