// One engine for the process, whoever asks first, and the end of a program that still has work queued.
#include "runtime/engine/default_engine.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace mxc::engine {
namespace {

TEST(DefaultEngine, IsOneForAllThreads) {
  std::vector<Engine*> seen(8, nullptr);
  std::vector<std::thread> threads;
  for (Engine*& place : seen) threads.emplace_back([&place] { place = &default_engine(); });
  for (std::thread& thread : threads) thread.join();
  for (Engine* engine : seen) EXPECT_EQ(engine, seen[0]);
  ASSERT_NE(seen[0], nullptr);
  int runs = 0;
  Variable x = seen[0]->variable("x");
  for (int i = 0; i < 100; ++i) default_engine().push({}, {}, {x}, [&] { return ++runs, absl::OkStatus(); });
  EXPECT_TRUE(default_engine().wait(x).ok());
  EXPECT_EQ(runs, 100);
}

// The child process of a death test: `exit` with an operation queued ends only when that has run.
TEST(DefaultEngineDeathTest, ExitWaitsForWhatIsQueued) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        default_engine().push({}, {}, {}, [] {
          std::this_thread::sleep_for(std::chrono::milliseconds(100));
          std::fputs("the operation has run", stderr);
          return absl::OkStatus();
        });
        std::exit(7);
      },
      testing::ExitedWithCode(7), "the operation has run");
}

}  // namespace
}  // namespace mxc::engine
