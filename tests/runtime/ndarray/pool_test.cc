// The pool: blocks come back, are aligned, and are freed beyond the limit.
#include "runtime/ndarray/pool.h"

#include <gtest/gtest.h>

#include <cstring>

namespace mxc::ndarray {
namespace {

TEST(Pool, GivesTheLastBlockOfAClassFirst) {
  Pool pool(uint64_t{1} << 20);
  void* a = pool.take(1000);
  void* b = pool.take(1000);
  EXPECT_NE(a, b);
  EXPECT_EQ(pool.use().taken, 2 * 1024u);
  pool.give(a, 1000);
  pool.give(b, 1000);
  EXPECT_EQ(pool.use().taken, 0u);
  EXPECT_EQ(pool.use().kept, 2 * 1024u);
  EXPECT_EQ(pool.take(1010), b);  // of the same class: up to 1024 bytes
  EXPECT_EQ(pool.take(900), a);
  pool.give(a, 900);
  pool.give(b, 1010);
}

TEST(Pool, EverySizeIsCoveredAndAligned) {
  Pool pool(uint64_t{64} << 20);
  for (uint64_t bytes = 1; bytes < 5'000'000; bytes += bytes / 3 + 1) {
    for (uint64_t size : {bytes - 1, bytes, bytes + 1}) {
      void* memory = pool.take(size);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
      std::memset(memory, 1, size);
      const uint64_t taken = pool.use().taken;
      EXPECT_GE(taken, size);
      EXPECT_LE(taken, std::max<uint64_t>(256, size + size / 4 + 64)) << size;
      pool.give(memory, size);
      EXPECT_EQ(pool.use().taken, 0u);
    }
  }
}

TEST(Pool, KeepsNoMoreThanItsLimit) {
  Pool pool(3000);
  void* blocks[4];
  for (void*& block : blocks) block = pool.take(1024);
  for (void* block : blocks) pool.give(block, 1024);
  EXPECT_EQ(pool.use().kept, 2 * 1024u);
  pool.trim();
  EXPECT_EQ(pool.use().kept, 0u);
  EXPECT_EQ(pool.take(uint64_t{1} << 60), nullptr);
}

}  // namespace
}  // namespace mxc::ndarray
