// Counts every call of the C library's allocator, operator new included. For one source file of a test program that is built without
// sanitizers (they have an allocator of their own).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>

namespace mxc::test {
inline std::atomic<long> allocations{0};
}

// The C library's own allocator, behind a count.
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* old, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void* malloc(size_t bytes) { return ++mxc::test::allocations, __libc_malloc(bytes); }
void* calloc(size_t count, size_t bytes) { return ++mxc::test::allocations, __libc_calloc(count, bytes); }
void* realloc(void* old, size_t bytes) { return ++mxc::test::allocations, __libc_realloc(old, bytes); }
void* aligned_alloc(size_t alignment, size_t bytes) { return ++mxc::test::allocations, __libc_memalign(alignment, bytes); }
}
