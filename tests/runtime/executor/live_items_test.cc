// Which items compute what is wanted, on small lists of steps.
#include "runtime/executor/live_items.h"

#include <gtest/gtest.h>

#include "tests/runtime/plan_builder.h"

namespace mxc::executor {
namespace {

using namespace mxc::test;
using plan::Space;

void nothing(void* const*, int64_t, int64_t, int64_t) {}

class LiveItems : public testing::Test {
 protected:
  uint32_t number(int64_t offset = -1, Space space = Space::arena) { return b.buffer({.dims = {}, .space = space, .offset = offset}); }
  void step(std::vector<ArgSpec> args) { b.step({.kernel = nothing, .args = std::move(args)}); }
  std::vector<uint8_t> live(std::vector<uint32_t> wanted, uint32_t first = 0) {
    b.end_graph();
    BuiltPlan built = b.build();
    const plan::Program program = built.program();
    core::PlanView view;
    const core::Status status = core::PlanView::open(program, &view);
    EXPECT_TRUE(status.ok()) << status.text;
    return live_items(view, 0, first, plan::kNone, wanted);
  }
  void SetUp() override { b.begin_graph("g", plan::GraphKind::user, 0); }

  PlanBuilder b;
};
using Kept = std::vector<uint8_t>;

TEST_F(LiveItems, WhatIsWantedAndWhatItReads) {
  const uint32_t x = number(-1, Space::io), a = number(), c = number(), ya = number(-1, Space::io), yc = number(-1, Space::io);
  step({in(x), out(a)});
  step({in(x), out(c)});
  step({in(a), out(ya)});
  step({in(c), out(yc)});
  EXPECT_EQ(live({ya}), (Kept{1, 0, 1, 0}));
}

TEST_F(LiveItems, NothingWantedNothingKept) {
  const uint32_t x = number(-1, Space::io), y = number(-1, Space::io);
  step({in(x), out(y)});
  EXPECT_EQ(live({}), (Kept{0}));
}

TEST_F(LiveItems, MemoryUsedTwiceIsTwoValues) {
  // a and c lie in the same bytes, one after the other: that y reads c does not make a's step needed.
  const uint32_t x = number(-1, Space::io), a = number(0), c = number(0), y = number(-1, Space::io), z = number(-1, Space::io);
  step({in(x), out(a)});
  step({in(a), out(z)});
  step({in(x), out(c)});
  step({in(c), out(y)});
  EXPECT_EQ(live({y}), (Kept{0, 0, 1, 1}));
}

TEST_F(LiveItems, TwoStepsMakeOneValue) {
  const uint32_t x = number(-1, Space::io), y = number(-1, Space::io);
  step({in(x), out(y)});
  step({in(x), out(y)});
  step({in(x), inout(y)});
  EXPECT_EQ(live({y}), (Kept{1, 1, 1}));
}

TEST_F(LiveItems, WhatLivesOnIsAlwaysWritten) {
  const uint32_t x = number(-1, Space::io), w = number(-1, Space::persistent), y = number(-1, Space::io);
  step({in(x), out(y)});
  step({in(x), inout(w)});
  EXPECT_EQ(live({}), (Kept{0, 1}));
}

TEST_F(LiveItems, OnlyFromTheFirst) {
  const uint32_t x = number(-1, Space::io), a = number(), y = number(-1, Space::io);
  step({in(x), out(a)});
  step({in(a), out(y)});
  EXPECT_EQ(live({y}, 1), (Kept{0, 1}));
}

TEST_F(LiveItems, ALoopIsKeptWhole) {
  const uint32_t x = number(-1, Space::io), sum = number(), other = number(), y = number(-1, Space::io);
  step({in(x), out(sum)});
  b.begin_loop(3);
  step({in(x), inout(sum)});
  step({in(x), out(other)});
  b.end_block();
  b.begin_loop(3);
  step({in(x), out(other)});
  b.end_block();
  step({in(sum), out(y)});
  EXPECT_EQ(live({y}), (Kept{1, 1, 0, 1}));
}

}  // namespace
}  // namespace mxc::executor
