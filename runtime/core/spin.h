// Waiting actively for a short time, in the hope that going to sleep and being woken (microseconds) is not needed.
#pragma once

#include <time.h>

#include <cstdint>

namespace mxc::core {

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Of the monotonic clock.
inline int64_t nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Spins until `ready` or for about `budget` nanoseconds; says whether it became ready.
template <typename Ready>
bool spin(int64_t budget, Ready ready) {
  if (ready()) return true;
  if (budget == 0) return false;
  int64_t end = nanoseconds() + budget;
  do {
    for (int i = 0; i < 32; ++i) {
      relax();
      if (ready()) return true;
    }
  } while (nanoseconds() < end);
  return false;
}

}  // namespace mxc::core
