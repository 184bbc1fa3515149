// What counts as going on.
#include "runtime/kv/progress.h"

#include <gtest/gtest.h>

#include <chrono>

namespace mxc::kv {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

class MovesTest : public testing::Test {
 protected:
  MovesTest() { look(0, {}, false); }
  // Half a second later, in which so much has been asked for and computed. Is it a move?
  bool look(uint64_t asked, Duration computed, bool waits) {
    now_ += milliseconds(500);
    asked_ += asked;
    computed_ += computed;
    return std::exchange(last_, moves_.look(now_, asked_, computed_, waits)) != last_;
  }

  Moves moves_;
  Time now_ = seconds(70);
  uint64_t asked_ = 0, last_ = 0;
  Duration computed_ = seconds(3);
};

TEST_F(MovesTest, AskingIsAMove) {
  EXPECT_TRUE(look(1, {}, false));
  EXPECT_FALSE(look(0, {}, false));
  EXPECT_TRUE(look(2, {}, true));
  EXPECT_FALSE(look(0, {}, true));
}

// A step may take an hour, on a machine that has little time for it.
TEST_F(MovesTest, ComputingIsAMove) {
  for (int i = 0; i < 7200; ++i) EXPECT_TRUE(look(0, milliseconds(3), false));
}

// What is computed by a process that waits is not its program's.
TEST_F(MovesTest, ComputingIsNoneForOneThatWaits) {
  EXPECT_FALSE(look(0, milliseconds(500), true));
  EXPECT_FALSE(look(0, milliseconds(0), false));
}

// Living is no computing.
TEST_F(MovesTest, HeartbeatsAreNoMoves) {
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(look(0, milliseconds(2), false));
}

// Looks follow on each other with each message: little time with little computing in it adds up.
TEST_F(MovesTest, LooksMayBeClose) {
  int moves = 0;
  uint64_t last = last_;
  for (int i = 0; i < 5000; ++i) {
    now_ += microseconds(100);
    computed_ += microseconds(1);
    if (std::exchange(last, moves_.look(now_, asked_, computed_, false)) != last) ++moves;
  }
  EXPECT_EQ(moves, 1);
}

TEST(ComputedByProcess, Grows) {
  const Duration before = computed_by_process();
  volatile double x = 1;
  while (computed_by_process() - before < milliseconds(2)) x = x * 1.5 + 1;
  EXPECT_GT(computed_by_process(), before);
}

}  // namespace
}  // namespace mxc::kv
