// A million random operations on 1, 2, 4 and 8 threads a lane, compared with the naive engine every ten thousand.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/runtime/engine/random_program.h"

namespace mxc::engine {
namespace {

class RandomProgramsLong : public testing::TestWithParam<int> {
  Watchdog watchdog_{std::chrono::minutes(40)};
};
INSTANTIATE_TEST_SUITE_P(Threads, RandomProgramsLong, testing::Values(1, 2, 4, 8));

TEST_P(RandomProgramsLong, ComputeWhatTheNaiveEngineComputes) {
  constexpr size_t kVariables = 24, kLength = 10'000, kPrograms = 100;
  std::unique_ptr<Engine> threaded = make_engine(GetParam()), naive = make_engine(0);
  Machine machine(*threaded, kVariables), oracle(*naive, kVariables);
  for (uint64_t seed = 1; seed <= kPrograms; ++seed) {
    const std::vector<Command> program = random_program(seed, kVariables, kLength, /*with_errors=*/seed % 3 != 0);
    for (const Command& c : program) machine.push(c);
    for (const Command& c : program) oracle.push(c);
    ASSERT_EQ(machine.outcome(), oracle.outcome()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace mxc::engine
