// Random programs: an engine with threads computes what the naive engine computes, errors included, and comes to an end.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/runtime/engine/random_program.h"

namespace mxc::engine {
namespace {

constexpr auto kLimit = std::chrono::seconds(240);

std::vector<std::string> run(const std::vector<Command>& program, size_t variables, int threads, size_t run_ahead) {
  std::unique_ptr<Engine> engine = make_engine(threads, run_ahead);
  Machine machine(*engine, variables);
  for (const Command& c : program) machine.push(c);
  return machine.outcome();
}

class RandomPrograms : public testing::TestWithParam<int> {
  Watchdog watchdog_{kLimit};
};
INSTANTIATE_TEST_SUITE_P(Threads, RandomPrograms, testing::Values(1, 2, 4, 8));

TEST_P(RandomPrograms, ComputeWhatTheNaiveEngineComputes) {
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    const size_t variables = 3 + seed % 10;
    const std::vector<Command> program = random_program(seed, variables, 300, /*with_errors=*/seed % 2 == 0);
    ASSERT_EQ(run(program, variables, GetParam(), 64), run(program, variables, 0, 64)) << "seed " << seed;
  }
}

TEST_P(RandomPrograms, NeedLittleRunAhead) {
  const std::vector<Command> program = random_program(99, 6, 200, true);
  EXPECT_EQ(run(program, 6, GetParam(), 1), run(program, 6, 0, 1));
}

TEST_P(RandomPrograms, FarRunAhead) {
  const std::vector<Command> program = random_program(7, 40, 5000, true);
  EXPECT_EQ(run(program, 40, GetParam(), 4096), run(program, 40, 0, 1));
}

// An engine that ends while operations are queued and most handles are gone: nothing hangs, nothing leaks.
TEST_P(RandomPrograms, EndWithTheEngine) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const std::vector<Command> program = random_program(seed, 8, 200, true);
    std::unique_ptr<Engine> engine = make_engine(GetParam(), 256);
    Machine machine(*engine, 8);
    for (const Command& c : program) machine.push(c);
    engine.reset();
  }
}

}  // namespace
}  // namespace mxc::engine
