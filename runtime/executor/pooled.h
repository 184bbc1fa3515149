// Pooled: an allocator for records of runs, which come and go all the time: they lie in the memory of arrays, which is kept for reuse.
#pragma once

#include <cstddef>
#include <new>

#include "runtime/ndarray/pool.h"

namespace mxc::executor {

template <typename T>
struct Pooled {
  using value_type = T;
  Pooled() = default;
  template <typename Other>
  Pooled(const Pooled<Other>&) {}
  T* allocate(size_t count) {
    void* memory = ndarray::Pool::arrays().take(count * sizeof(T));
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t count) { ndarray::Pool::arrays().give(memory, count * sizeof(T)); }
  bool operator==(const Pooled&) const { return true; }
};

}  // namespace mxc::executor
