// What is hidden of communication, on a clock of the test's own.
#include "runtime/train/overlap.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace mxc::train {
namespace {

constexpr Overlap::Kind communication = Overlap::Kind::communication, computing = Overlap::Kind::computing;

TEST(Overlap, OfWhatWasOnItsWay) {
  Overlap overlap;
  EXPECT_EQ(overlap.hidden_percent(), 0);
  overlap.begin(computing, 1000);
  overlap.begin(communication, 1100);
  overlap.begin(communication, 1150);
  overlap.end(computing, 1200);  // 100 are hidden
  overlap.end(communication, 1300);
  overlap.end(communication, 1400);
  EXPECT_DOUBLE_EQ(overlap.hidden_percent(), 100.0 * 100 / 300);
  overlap.begin(computing, 1500);  // alone: it counts for nothing
  overlap.end(computing, 9000);
  EXPECT_DOUBLE_EQ(overlap.hidden_percent(), 100.0 * 100 / 300);
}

TEST(Overlap, AllAndNothing) {
  Overlap all, nothing;
  all.begin(computing, 5);
  all.begin(communication, 6);
  all.end(communication, 16);
  EXPECT_EQ(all.hidden_percent(), 100);
  nothing.begin(communication, 5);
  nothing.end(communication, 6);
  EXPECT_EQ(nothing.hidden_percent(), 0);
}

TEST(Overlap, ThreadsMayChangePlaces) {
  Overlap overlap;
  overlap.begin(communication, 10);
  overlap.begin(computing, 8);  // it read the clock before the other
  overlap.end(computing, 20);
  overlap.end(communication, 20);
  EXPECT_EQ(overlap.hidden_percent(), 100);
}

TEST(Overlap, IsUsedByManyThreads) {
  Overlap overlap;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, kind = i % 2 == 0 ? communication : computing] {
      for (int j = 0; j < 1000; ++j) {
        overlap.begin(kind, Overlap::clock());
        overlap.end(kind, Overlap::clock());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(overlap.hidden_percent(), 0);
  EXPECT_LE(overlap.hidden_percent(), 100);
}

}  // namespace
}  // namespace mxc::train
