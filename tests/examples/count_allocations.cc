// Loaded in front of a program (LD_PRELOAD): when it ends, the number of its calls of the C library's allocator goes to stderr, as
// "allocations: 1234".
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "tests/runtime/counted_allocations.h"

extern "C" {
int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  ++mxc::test::allocations;
  *memory = __libc_memalign(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}
void* memalign(size_t alignment, size_t bytes) { return ++mxc::test::allocations, __libc_memalign(alignment, bytes); }
}

namespace {

struct AtEnd {
  ~AtEnd() {
    char text[64];
    const int length = std::snprintf(text, sizeof text, "allocations: %ld\n", mxc::test::allocations.load());
    if (write(STDERR_FILENO, text, static_cast<size_t>(length)) < 0) return;
  }
} at_end;

}  // namespace
