// See pool.h.
#include "runtime/ndarray/pool.h"

#include <sys/mman.h>

#include <bit>
#include <cstdlib>

#include "runtime/core/plan.h"

namespace mxc::ndarray {
namespace {

constexpr uint64_t kSmallest = 256, kHugePage = uint64_t{2} << 20;
constexpr uint64_t kLargest = uint64_t{1} << 56;

struct SizeClass {
  int number;
  uint64_t bytes;
};

// Classes are m * 2^k for m = 4, 5, 6, 7.
SizeClass class_of(uint64_t bytes) {
  if (bytes < kSmallest) bytes = kSmallest;
  const int shift = std::bit_width(bytes - 1) - 3;
  uint64_t m = ((bytes - 1) >> shift) + 1;  // 5 .. 8, the last being 4 of the next doubling
  return {4 * shift + static_cast<int>(m) - 4, m << shift};
}

void* allocate(uint64_t bytes) {
  const bool huge = bytes >= kHugePage;
  const uint64_t align = huge ? kHugePage : plan::kAlign;
  void* memory = std::aligned_alloc(align, (bytes + align - 1) / align * align);
  if (huge && memory != nullptr) madvise(memory, bytes, MADV_HUGEPAGE);  // advice: failure changes nothing but speed
  return memory;
}

}  // namespace

void* Pool::take(uint64_t bytes) {
  if (bytes > kLargest) return nullptr;
  const SizeClass size = class_of(bytes);
  {
    std::lock_guard lock(mutex_);
    std::vector<void*>& free = free_[size.number];
    if (!free.empty()) {
      void* memory = free.back();
      free.pop_back();
      use_.kept -= size.bytes;
      use_.taken += size.bytes;
      return memory;
    }
  }
  void* memory = allocate(size.bytes);
  if (memory == nullptr) {
    trim();
    memory = allocate(size.bytes);
  }
  if (memory == nullptr) return nullptr;
  std::lock_guard lock(mutex_);
  use_.taken += size.bytes;
  return memory;
}

void Pool::give(void* memory, uint64_t bytes) {
  if (memory == nullptr) return;
  const SizeClass size = class_of(bytes);
  {
    std::lock_guard lock(mutex_);
    use_.taken -= size.bytes;
    if (use_.kept + size.bytes <= most_kept_) {
      use_.kept += size.bytes;
      free_[size.number].push_back(memory);
      return;
    }
  }
  std::free(memory);
}

Pool::Use Pool::use() const {
  std::lock_guard lock(mutex_);
  return use_;
}

void Pool::trim() {
  std::lock_guard lock(mutex_);
  for (std::vector<void*>& free : free_) {
    for (void* memory : free) std::free(memory);
    free.clear();
  }
  use_.kept = 0;
}

Pool& Pool::arrays() {
  static Pool* pool = new Pool(uint64_t{1} << 30);
  return *pool;
}

}  // namespace mxc::ndarray
