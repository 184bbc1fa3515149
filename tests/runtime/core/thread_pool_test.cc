// Every cell exactly once, from one or several callers, with more threads than CPUs.
#include "runtime/core/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "tests/runtime/forked.h"

namespace mxc::core {
namespace {

class Pool : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { ASSERT_TRUE(ThreadPool::create(GetParam(), &pool_).ok()); }
  ThreadPool pool_;
};
INSTANTIATE_TEST_SUITE_P(Threads, Pool, testing::Values(1, 2, 3, 4, 8));

TEST_P(Pool, RunsEveryCellOnce) {
  EXPECT_EQ(pool_.threads(), GetParam());
  for (int64_t grid : {0, 1, 2, 3, 7, 31, 32, 33, 1000}) {
    std::vector<int> count(static_cast<size_t>(grid) + 1);
    pool_.parallel(grid, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++count[static_cast<size_t>(i)];
    });
    for (int64_t i = 0; i < grid; ++i) ASSERT_EQ(count[static_cast<size_t>(i)], 1) << i << " of " << grid;
    EXPECT_EQ(count.back(), 0);
  }
}

TEST_P(Pool, ManyShortLoopsSeeEachOthersWrites) {
  // Loop k+1 reads what loop k wrote, in another partition: any missing happens-before is a wrong sum or a TSan report.
  std::vector<int64_t> a(97, 1), b(97);
  int loops = 20'000;
  for (int k = 0; k < loops; ++k) {
    pool_.parallel(97, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) b[static_cast<size_t>(i)] = a[static_cast<size_t>(96 - i)] + 1;
    });
    a.swap(b);
  }
  for (int64_t value : a) ASSERT_EQ(value, 1 + loops);
}

// A worker that is late for a loop of few chunks must not take part in the next one, of more chunks, under the old loop's number.
TEST_P(Pool, LoopsOfDifferentSizesFollowEachOther) {
  std::vector<std::atomic<int>> count(64);
  for (int k = 0; k < 20000; ++k) {
    int64_t grid = k % 3 == 0 ? 64 : 2 + k % 5;
    pool_.parallel(grid, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) count[static_cast<size_t>(i)].fetch_add(1, std::memory_order_relaxed);
    });
    for (int64_t i = 0; i < 64; ++i) ASSERT_EQ(count[static_cast<size_t>(i)].exchange(0), i < grid ? 1 : 0) << "loop " << k << ", cell " << i;
  }
}

TEST_P(Pool, SleepsAndWakes) {
  std::atomic<int64_t> sum = 0;
  for (int k = 0; k < 20; ++k) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // longer than any spinning
    pool_.parallel(64, [&](int64_t begin, int64_t end) { sum += end - begin; });
  }
  EXPECT_EQ(sum, 20 * 64);
}

TEST_P(Pool, SeveralCallersAndNesting) {
  std::vector<std::thread> callers;
  std::atomic<int64_t> sum = 0;
  for (int c = 0; c < 3; ++c) {
    callers.emplace_back([&] {
      for (int k = 0; k < 300; ++k) {
        pool_.parallel(10, [&](int64_t begin, int64_t end) {
          pool_.parallel(end - begin, [&](int64_t first, int64_t last) { sum += last - first; });
        });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum, 3 * 300 * 10);
}

// Sums [0, grid) and counts the calls.
std::pair<int64_t, int> sum_by(ThreadPool& pool, int64_t grid) {
  std::atomic<int64_t> sum = 0;
  std::atomic<int> calls = 0;
  pool.parallel(grid, [&](int64_t begin, int64_t end) {
    ++calls;
    for (int64_t i = begin; i < end; ++i) sum += i;
  });
  return {sum, calls};
}

TEST_P(Pool, InAForkedChildTheCallerIsAlone) {
  for (bool sleeping : {false, true}) {
    sum_by(pool_, 100);
    if (sleeping) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const int code = in_child([&] {
      if (pool_.threads() != 1) return 1;
      if (sum_by(pool_, 1000) != std::pair<int64_t, int>(499500, 1)) return 2;
      pool_ = ThreadPool();  // does not wait for threads that are not there
      return sum_by(pool_, 1000).first == 499500 ? 0 : 3;
    });
    EXPECT_EQ(code, 0);
    EXPECT_EQ(pool_.threads(), GetParam());
    EXPECT_EQ(sum_by(pool_, 1000).first, 499500);
  }
}

// Another thread's loop is under way at the fork: it never ends in the child.
TEST_P(Pool, AForkDuringALoopOfAnotherThread) {
  std::atomic<bool> began = false, open = false;
  std::thread other([&] {
    pool_.parallel(8, [&](int64_t, int64_t) {
      began = true;
      while (!open) std::this_thread::yield();
    });
  });
  while (!began) std::this_thread::yield();
  const int code = in_child([&] {
    if (sum_by(pool_, 1000) != std::pair<int64_t, int>(499500, 1)) return 1;
    pool_ = ThreadPool();
    return 0;
  });
  open = true;
  other.join();
  EXPECT_EQ(code, 0);
  EXPECT_EQ(sum_by(pool_, 1000).first, 499500);
}

TEST(ThreadPool, DefaultIsOneThreadAndLimitsAreChecked) {
  ThreadPool pool;
  EXPECT_EQ(pool.threads(), 1);
  EXPECT_EQ(ThreadPool::create(-1, &pool).code, Code::invalid_argument);
  EXPECT_STREQ(ThreadPool::create(5000, &pool).text, "threads: 5000 is not in [0, 1024]");
  ASSERT_TRUE(ThreadPool::create(0, &pool).ok());
  EXPECT_EQ(pool.threads(), available_cpus());
}

}  // namespace
}  // namespace mxc::core
