// The frame of a program whose main is the user's own: an mxc::Error that nobody has caught ends it with one line and exit code 1, and not
// with a crash. The linker puts this function in main's place (--wrap=main). What is queued when main returns still runs; if some of it fails,
// or failed before, and nobody has been told by reading a result, that is one line, too, and the exit code is 1 instead of 0. So it is where the
// program calls `exit`.
// A process that its launcher wants for another role than the program's own has that one instead.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "mxc/error.h"

extern "C" int __real_main(int argc, char** argv, char** environment);

// Of a program that makes stores (kv/role.h); null in others.
extern "C" int mxc_run_role() __attribute__((weak));
// Of a program that uses the engine (engine/default_engine.h); null in others.
extern "C" const char* mxc_untold_failure() __attribute__((weak));

namespace {

// What the frame says at the program's end, once. The exit code is that of main or of `exit`, but 1 instead of 0.
bool told = false;

bool tell_untold() {
  const char* failure = told || mxc_untold_failure == nullptr ? nullptr : mxc_untold_failure();
  told = true;
  if (failure == nullptr) return false;
  std::fflush(stdout);
  std::fprintf(stderr, "error: %s\n", failure);
  return true;
}

// The program calls `exit`: nothing that it has registered is left to run.
void at_exit(int code, void*) {
  if (!tell_untold() || code != 0) return;
  std::fflush(nullptr);
  _exit(1);
}

}  // namespace

extern "C" int __wrap_main(int argc, char** argv, char** environment) {
  if (mxc_run_role != nullptr) {
    if (const int code = mxc_run_role(); code >= 0) return code;
  }
  if (mxc_untold_failure != nullptr) on_exit(at_exit, nullptr);
  try {
    const int code = __real_main(argc, argv, environment);
    return tell_untold() && code == 0 ? 1 : code;
  } catch (const mxc::Error& error) {
    told = true;
    const mxc::Here& at = error.where;
    std::fflush(stdout);
    std::fprintf(stderr, "%s:%u:%u: error: %s\n", at.file_name(), static_cast<unsigned>(at.line()), static_cast<unsigned>(at.column()),
                 error.message.c_str());
    return 1;
  }
}
