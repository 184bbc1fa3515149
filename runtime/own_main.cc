// The frame of a program whose main is the user's own: an mxc::Error that nobody has caught ends it with one line and exit code 1, and not
// with a crash. The linker puts this function in main's place (--wrap=main). What is queued when main returns still runs: the engine waits
// for it at exit (engine/default_engine.h).
// A process that its launcher wants for another role than the program's own has that one instead.
#include <cstdio>

#include "mxc/error.h"

extern "C" int __real_main(int argc, char** argv, char** environment);

// Of a program that makes stores (kv/role.h); null in others.
extern "C" int mxc_run_role() __attribute__((weak));

extern "C" int __wrap_main(int argc, char** argv, char** environment) {
  if (mxc_run_role != nullptr) {
    if (const int code = mxc_run_role(); code >= 0) return code;
  }
  try {
    return __real_main(argc, argv, environment);
  } catch (const mxc::Error& error) {
    const mxc::Here& at = error.where;
    std::fflush(stdout);
    std::fprintf(stderr, "%s:%u:%u: error: %s\n", at.file_name(), static_cast<unsigned>(at.line()), static_cast<unsigned>(at.column()),
                 error.message.c_str());
    return 1;
  }
}
