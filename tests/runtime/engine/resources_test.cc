// Random numbers fixed at the push, scratch memory that one operation has at a time.
#include "runtime/engine/resources.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "runtime/core/philox.h"
#include "tests/runtime/engine/engines.h"

namespace mxc::engine {
namespace {

class Resources : public OnEngine {};
INSTANTIATE_TEST_SUITE_P(Threads, Resources, testing::Values(0, 1, 4));

TEST_P(Resources, DrawsDoNotDependOnThreads) {
  constexpr uint64_t kSeed = 17, kOperations = 40, kElements = 8;
  Random random(*engine_, kSeed);
  std::vector<std::vector<uint32_t>> drawn(kOperations, std::vector<uint32_t>(kElements));
  for (std::vector<uint32_t>& numbers : drawn) {
    engine_->push({}, {random.variable()}, {}, [&numbers, draw = random.next()] {
      const core::PhiloxKey key = core::philox_key(draw.seed, draw.step, 0, 3);
      for (uint64_t i = 0; i < kElements; ++i) numbers[i] = core::philox_draw32(key, 0, i);
      return ok();
    });
  }
  ASSERT_TRUE(engine_->wait_idle(random.variable()).ok());
  for (uint64_t step = 0; step < kOperations; ++step) {
    for (uint64_t i = 0; i < kElements; ++i) {
      ASSERT_EQ(drawn[step][i], core::philox_draw32(core::philox_key(kSeed, step, 0, 3), 0, i)) << step << " " << i;
    }
  }
}

TEST_P(Resources, ASeedStartsOver) {
  Random random(*engine_, 1);
  EXPECT_EQ(random.next().step, 0u);
  EXPECT_EQ(random.next().step, 1u);
  random.set_seed(2);
  const Random::Draw draw = random.next();
  EXPECT_EQ(draw.seed, 2u);
  EXPECT_EQ(draw.step, 0u);
}

TEST_P(Resources, ScratchBelongsToOneOperationAtATime) {
  std::atomic<int> wrong = 0;
  {
    Scratch scratch(*engine_, "scratch");
    for (uint32_t i = 0; i < 200; ++i) {
      // Different lanes, and sizes that grow and shrink.
      engine_->push({.lane = static_cast<Lane>(i % kLanes)}, {}, {scratch.variable()}, [&scratch, &wrong, i]() -> absl::Status {
        const size_t count = i * 37 % 1000;
        absl::StatusOr<void*> memory = scratch.get(count * sizeof(uint32_t));
        if (!memory.ok()) return memory.status();
        uint32_t* numbers = static_cast<uint32_t*>(*memory);
        if (reinterpret_cast<uintptr_t>(numbers) % plan::kAlign != 0) ++wrong;
        for (size_t k = 0; k < count; ++k) numbers[k] = i;
        for (size_t k = 0; k < count; ++k) wrong += numbers[k] == i ? 0 : 1;
        return ok();
      });
    }
  }  // the end of the scratch waits for its users
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(engine_->wait_all().ok());
}

TEST_P(Resources, ScratchBeyondMemoryIsAnError) {
  Scratch scratch(*engine_, "scratch");
  const size_t huge = std::numeric_limits<size_t>::max() - 5;
  EXPECT_EQ(scratch.get(huge).status(), absl::ResourceExhaustedError("no memory for 18446744073709551610 bytes of scratch"));
  EXPECT_TRUE(scratch.get(0).ok());
}

}  // namespace
}  // namespace mxc::engine
