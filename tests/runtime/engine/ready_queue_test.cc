// The queue against the definition of its order: the largest priority first, then the smallest sequence.
#include "runtime/engine/ready_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

namespace mxc::engine {
namespace {

TEST(ReadyQueue, GivesTheMostUrgentAndThenTheOldest) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    const int priorities = 1 + static_cast<int>(seed % 4);
    std::deque<Operation> operations;
    std::vector<Operation*> inside;
    ReadyQueue queue;
    for (uint64_t i = 0; i < 100; ++i) {
      Operation& operation = operations.emplace_back();
      operation.sequence = i + 1;
      operation.traits.priority = static_cast<int32_t>(random() % static_cast<uint64_t>(priorities));
    }
    std::vector<size_t> order(operations.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (seed % 3 != 0) std::shuffle(order.begin() + static_cast<long>(seed % 90), order.end(), random);
    auto take = [&] {
      auto first = std::min_element(inside.begin(), inside.end(), [](const Operation* a, const Operation* b) {
        return a->traits.priority != b->traits.priority ? a->traits.priority > b->traits.priority : a->sequence < b->sequence;
      });
      ASSERT_EQ(queue.front(), *first);
      ASSERT_EQ(queue.pop(), *first);
      inside.erase(first);
    };
    for (size_t i : order) {
      queue.push(&operations[i]);
      inside.push_back(&operations[i]);
      while (!inside.empty() && random() % 3 == 0) take();
      ASSERT_EQ(queue.size(), inside.size());
    }
    while (!inside.empty()) take();
    EXPECT_TRUE(queue.empty());
  }
}

}  // namespace
}  // namespace mxc::engine
