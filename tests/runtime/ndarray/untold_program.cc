// A main of a user's own for untold_program_test.py: an operation fails, and by the argument somebody reads its result or not.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "mxc/ndarray.h"

int main(int argc, char** argv) {
  const auto asked = [&](const char* what) { return argc > 1 && std::strcmp(argv[1], what) == 0; };
  if (asked("good")) return 0;
  const mxc::NDArray bad = take(mxc::NDArray::zeros({2}), mxc::NDArray::from({7}));
  if (asked("more")) take(mxc::NDArray::zeros({2}), mxc::NDArray::from({8}));
  if (asked("read")) {
    try {
      (bad + 1).wait();
    } catch (const mxc::Error&) {
      std::puts("read");
    }
  }
  if (asked("exits")) {
    std::printf("before");
    std::exit(0);
  }
  if (asked("exits three")) std::exit(3);
  if (asked("throws")) bad.wait();
  return asked("three") ? 3 : 0;
}
