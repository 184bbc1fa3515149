// The handler calls nothing but async-signal-safe functions: the process is in an unknown state. It runs on a stack of its own, so that it
// also serves when the stack has overflowed.
#include "driver/crash.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

#include "driver/files.h"
#include "driver/interrupt.h"
#include "driver/output_set.h"

namespace mxc::driver {

namespace {

struct Pending {
  const char* path;
  const char* text;
  size_t bytes;
};
// Read by the signal handler; written by the one thread that compiles. Release and acquire order the members before the pointer.
std::atomic<const Pending*> pending{nullptr};
Pending slot;

void say(const char* text) {
  if (::write(STDERR_FILENO, text, strlen(text)) < 0) _exit(kInternal);
}

bool save(const Pending& reproducer) {
  int file = open(reproducer.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return false;
  for (size_t done = 0; done < reproducer.bytes;) {
    ssize_t count = ::write(file, reproducer.text + done, reproducer.bytes - done);
    if (count <= 0) return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

void onCrash(int number) {
  say("mxc: internal error: ");
  const char* name = sigabbrev_np(number);
  say(name ? name : "signal");
  const Pending* reproducer = pending.load(std::memory_order_acquire);
  if (reproducer && save(*reproducer)) {
    say("; to reproduce it: mxc compile ");
    say(reproducer->path);
  }
  say("\n");
  removeFoldersOfSignal();
  _exit(kInternal);
}

}  // namespace

void installCrashHandler() {
  static char stack[64 << 10];
  stack_t alternative{};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof stack;
  sigaltstack(&alternative, nullptr);
  struct sigaction action {};
  action.sa_handler = onCrash;
  action.sa_flags = SA_ONSTACK | SA_RESETHAND;
  for (int number : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE}) sigaction(number, &action, nullptr);
}

Reproducer::Reproducer(std::string path, const std::string& text) : path_(std::move(path)), text_(text) {
  slot = {path_.c_str(), text_.data(), text_.size()};
  pending.store(&slot, std::memory_order_release);
}

Reproducer::~Reproducer() { pending.store(nullptr, std::memory_order_release); }

void Reproducer::write(DiagnosticPrinter& printer) {
  OutputSet file;
  file.add(path_, text_);
  if (file.commit(printer)) printer.error(frontend::Fault::internal, "this is a bug of mxc; to reproduce it: mxc compile " + path_);
}

}  // namespace mxc::driver
