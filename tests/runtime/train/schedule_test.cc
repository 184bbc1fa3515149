#include "runtime/train/schedule.h"

#include <gtest/gtest.h>

namespace mxc::train {
namespace {

// Factor at a step of 10 epochs of 20 steps, without warm-up unless given.
double at(const std::string& text, int64_t step, int64_t warmup = 0) {
  const auto schedule = parse_schedule(text);
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  return schedule->factor(step, warmup, 20, 200);
}

TEST(Schedule, Values) {
  EXPECT_EQ(at("constant", 0), 1);
  EXPECT_EQ(at("constant", 199), 1);
  EXPECT_EQ(at("step:3:0.1", 59), 1);
  EXPECT_DOUBLE_EQ(at("step:3:0.1", 60), 0.1);
  EXPECT_DOUBLE_EQ(at("step:3:0.1", 180), 0.001);
  EXPECT_DOUBLE_EQ(at("step:0.5:0.5", 25), 0.25);
  EXPECT_DOUBLE_EQ(at("exp:0.25", 10), 0.5);
  EXPECT_DOUBLE_EQ(at("exp:0.25", 40), 0.0625);
  EXPECT_DOUBLE_EQ(at("cosine", 0), 1);
  EXPECT_DOUBLE_EQ(at("cosine", 100), 0.5);
  EXPECT_NEAR(at("cosine", 200), 0, 1e-15);
  EXPECT_NEAR(at("cosine", 50), 0.85355339059327, 1e-13);  // (1 + sqrt(1/2)) / 2
  EXPECT_DOUBLE_EQ(at("cosine:0.2", 100), 0.6);
  EXPECT_DOUBLE_EQ(at("poly", 50), 0.75);
  EXPECT_DOUBLE_EQ(at("poly:2", 50), 0.5625);
  EXPECT_EQ(at("poly", 500), 0);  // beyond the end it stays there
}

TEST(Schedule, Warmup) {
  EXPECT_DOUBLE_EQ(at("constant", 0, 4), 0.25);
  EXPECT_DOUBLE_EQ(at("constant", 3, 4), 1);
  EXPECT_DOUBLE_EQ(at("cosine", 0, 100), 0.01);
  EXPECT_DOUBLE_EQ(at("cosine", 100, 100), 1);
  EXPECT_DOUBLE_EQ(at("cosine", 150, 100), 0.5);
}

TEST(Schedule, Faults) {
  for (const char* text :
       {"", "linear", "step", "step:3", "step:0:0.1", "exp", "exp:x", "exp:-1", "cosine:0:1", "constant:1", "poly:inf"}) {
    EXPECT_EQ(parse_schedule(text).status().message(),
              "expected constant, step:EVERY:FACTOR, exp:FACTOR, cosine[:FLOOR] or poly[:POWER]")
        << text;
  }
}

}  // namespace
}  // namespace mxc::train
