// The work of one operation on several threads: all of it once, on threads that are idle alone.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "runtime/core/spin.h"
#include "tests/runtime/engine/engines.h"

namespace mxc::engine {
namespace {

class Share : public OnEngine {};
INSTANTIATE_TEST_SUITE_P(Threads, Share, testing::Values(0, 1, 2, 4));
class ShareThreaded : public OnEngine {};
INSTANTIATE_TEST_SUITE_P(Threads, ShareThreaded, testing::Values(2, 4));

TEST_P(Share, EveryCellOnceAndSeenByTheNextOperation) {
  constexpr int64_t kGrid = 1000;
  Variable x = engine_->variable("x");
  std::vector<int> cells(kGrid);
  for (int k = 0; k < 200; ++k) {
    engine_->push({}, {}, {x}, [&] {
      engine_->share(kGrid, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) cells[static_cast<size_t>(i)] += 1;
      });
      engine_->share(0, [&](int64_t, int64_t) { cells[0] = -1; });
      return ok();
    });
  }
  ASSERT_TRUE(engine_->wait(x).ok());
  for (int count : cells) ASSERT_EQ(count, 200);
}

// Two ranges that wait for each other end only on two threads.
TEST_P(ShareThreaded, IdleThreadsTakePart) {
  Variable x = engine_->variable("x");
  std::atomic<int> arrived{0};
  std::atomic<bool> met{true};
  engine_->push({}, {}, {x}, [&] {
    engine_->share(2, [&](int64_t begin, int64_t end) {
      arrived += static_cast<int>(end - begin);
      if (!core::spin(20'000'000'000, [&] { return arrived.load() == 2 && end - begin == 1; })) met = false;
    });
    return ok();
  });
  ASSERT_TRUE(engine_->wait(x).ok());
  EXPECT_TRUE(met);
}

TEST_P(ShareThreaded, AloneWhileAnotherOperationRuns) {
  Variable x = engine_->variable("x"), y = engine_->variable("y");
  std::promise<void> began, gate;
  engine_->push({}, {}, {x}, [&, open = gate.get_future().share()] { return began.set_value(), open.wait(), ok(); });
  began.get_future().wait();
  std::vector<std::pair<int64_t, int64_t>> ranges;
  std::vector<std::thread::id> threads;
  engine_->push({}, {}, {y}, [&] {
    threads.push_back(std::this_thread::get_id());
    engine_->share(100, [&](int64_t begin, int64_t end) {
      ranges.push_back({begin, end});
      threads.push_back(std::this_thread::get_id());
    });
    return ok();
  });
  EXPECT_TRUE(engine_->wait(y).ok());
  gate.set_value();
  EXPECT_EQ(ranges, (std::vector<std::pair<int64_t, int64_t>>{{0, 100}}));
  ASSERT_EQ(threads.size(), 2u);
  EXPECT_EQ(threads[0], threads[1]);
  EXPECT_TRUE(engine_->wait(x).ok());
}

}  // namespace
}  // namespace mxc::engine
