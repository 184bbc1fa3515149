// The arithmetic of the memory plan, on graphs small enough to plan by hand. Times are the steps of the graph, sizes are elements.
#include "passes/offsets.h"

#include <gtest/gtest.h>

#include <random>

namespace mxc::passes {
namespace {

using Blocks = std::vector<Lifetime>;

void expectDisjoint(const Blocks& blocks, const Offsets& plan, int64_t alignment) {
  ASSERT_EQ(plan.at.size(), blocks.size());
  for (size_t a = 0; a < blocks.size(); ++a) {
    EXPECT_EQ(plan.at[a] % alignment, 0);
    EXPECT_LE(plan.at[a] + blocks[a].bytes, plan.bytes);
    for (size_t b = a + 1; b < blocks.size(); ++b) {
      bool together = blocks[a].begin <= blocks[b].end && blocks[b].begin <= blocks[a].end;
      bool apart = plan.at[a] + blocks[a].bytes <= plan.at[b] || plan.at[b] + blocks[b].bytes <= plan.at[a];
      EXPECT_TRUE(!together || apart) << a << " and " << b;
    }
  }
}

struct Expected {
  int64_t apart, shared;
};
void expectPlan(const Blocks& blocks, Expected expected) {
  EXPECT_EQ(offsetsApart(blocks, 1).bytes, expected.apart);
  Offsets shared = offsetsShared(blocks, 1);
  EXPECT_EQ(shared.bytes, expected.shared);
  EXPECT_EQ(peakLive(blocks), expected.shared);
  expectDisjoint(blocks, shared, 1);
}

// data8 -> fc16 -> relu -> fc10 -> softmax, batch 4: 208 / 104 / 128 / 104.
TEST(Offsets, PerceptronForward) {
  expectPlan({{0, 1, 64}, {1, 2, 64}, {2, 3, 40}, {3, 4, 40}}, {208, 128});
  expectPlan({{0, 2, 64}, {2, 4, 40}}, {104, 104});  // in place
}

// Training, relu's gradient reads its result; the softmax stays: 408 / 240 / 232 / 208.
TEST(Offsets, PerceptronTraining) {
  expectPlan({{0, 1, 64}, {1, 6, 64}, {2, 3, 40}, {3, 7, 40}, {4, 5, 40}, {5, 6, 64}, {6, 7, 64}, {7, 7, 32}}, {408, 232});
  expectPlan({{0, 6, 64}, {2, 7, 40}, {4, 5, 40}, {5, 7, 64}, {7, 7, 32}}, {240, 208});
}

// Relu's gradient reads argument and result: 408 / 304 / 296 / 272.
TEST(Offsets, PerceptronTrainingReadingBoth) {
  expectPlan({{0, 6, 64}, {1, 6, 64}, {2, 3, 40}, {3, 7, 40}, {4, 5, 40}, {5, 6, 64}, {6, 7, 64}, {7, 7, 32}}, {408, 296});
  expectPlan({{0, 6, 64}, {1, 6, 64}, {2, 7, 40}, {4, 5, 40}, {5, 7, 64}, {7, 7, 32}}, {304, 272});
}

// A gated recurrent cell over `steps` inputs of 4, which lie together: x (cut out), xm = [x, m] of 8, gates of 8, the next m of 4. While gates
// are computed, the inputs, m, xm and gates are alive, and leave no gap: every m has to lie so that the next pair fits beside it.
TEST(Offsets, UnrolledRecurrentNetLeavesNoGap) {
  for (int64_t steps : {2, 4, 8, 16, 32}) {
    Blocks blocks = {{0, 0, 4 * steps}};
    int64_t time = 0, memory = 1;
    blocks.push_back({0, 0, 4});  // the first m
    for (int64_t step = 0; step < steps; ++step) {
      blocks[0].end = time + 1;
      blocks.push_back({time + 1, time + 2, 4});
      blocks.push_back({time + 2, time + 3, 8});
      blocks.push_back({time + 3, time + 5, 8});
      blocks[static_cast<size_t>(memory)].end = time + 5;
      memory = static_cast<int64_t>(blocks.size());
      blocks.push_back({time + 4, time + 6, 4});
      time += 5;
    }
    const Offsets plan = offsetsShared(blocks, 1);
    EXPECT_EQ(plan.bytes, 4 * steps + 4 + 8 + 8) << steps << " steps";
    expectDisjoint(blocks, plan, 1);
  }
}

// data8 -> fc16 -> relu = a -> fc16 -> relu -> (+ a) -> fc10 -> softmax: 400 / 168 / 192 / 128.
TEST(Offsets, ResidualForward) {
  expectPlan({{0, 1, 64}, {1, 4, 64}, {2, 3, 64}, {3, 4, 64}, {4, 5, 64}, {5, 6, 40}, {6, 7, 40}}, {400, 192});
  expectPlan({{0, 4, 64}, {2, 5, 64}, {5, 7, 40}}, {168, 128});
}

// AlexNet's training by the paper's rules with minimal reads, in units of 256 bytes: no order of all blocks by size or length of life
// comes nearer to the bound than 1.4 %; stacking those of the peak first reaches it.
TEST(Offsets, AlexnetTraining) {
  Blocks blocks = {{0, 46, 279936},  {2, 45, 69984},   {3, 44, 69984},   {4, 42, 186624},  {6, 41, 43264},   {7, 40, 43264},  {8, 38, 64896},
                   {10, 36, 64896},  {12, 34, 43264},  {14, 33, 9216},   {15, 33, 9216},   {16, 30, 4096},   {18, 31, 4096},  {19, 27, 4096},
                   {21, 28, 4096},   {22, 48, 1000},   {24, 25, 1000},   {33, 35, 43264},  {35, 37, 64896},  {37, 39, 64896}, {39, 40, 43264},
                   {40, 41, 43264},  {41, 43, 186624}, {43, 44, 69984},  {44, 45, 69984},  {45, 47, 279936}};
  Offsets plan = offsetsShared(blocks, 1);
  EXPECT_EQ(plan.bytes, peakLive(blocks));
  expectDisjoint(blocks, plan, 1);
}

// Activations that live until their layer's backward step, short-lived ones on the way there and back.
TEST(Offsets, ChainsComeWithinAPercent) {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    Blocks blocks;
    int64_t layers = 10 + random() % 50;
    for (int64_t i = 0; i < layers; ++i) {
      int64_t bytes = 64 << random() % 11, other = 64 << random() % 11;
      blocks.push_back({i, 2 * layers - i, bytes});
      blocks.push_back({i, i + 1 + static_cast<int64_t>(random() % 3), other});
      blocks.push_back({2 * layers - i, 2 * layers - i + 1, bytes});
    }
    Offsets plan = offsetsShared(blocks, 64);
    expectDisjoint(blocks, plan, 64);
    EXPECT_LE(static_cast<double>(plan.bytes), 1.01 * static_cast<double>(peakLive(blocks)));
  }
}

TEST(Offsets, SmallestGapThatFits) {
  // Gaps of 4 and 2 open between three long-lived blocks; the block of 2 belongs into the second.
  Blocks blocks = {{0, 9, 10}, {0, 0, 4}, {0, 9, 9}, {0, 0, 2}, {0, 9, 8}, {1, 9, 4}, {1, 9, 2}};
  Offsets plan = offsetsShared(blocks, 1);
  EXPECT_EQ(plan.bytes, 33);
  expectDisjoint(blocks, plan, 1);
}

TEST(Offsets, Aligned) {
  Blocks blocks = {{0, 1, 100}, {1, 2, 1}, {0, 2, 64}};
  Offsets plan = offsetsShared(blocks, 64);
  EXPECT_EQ(plan.bytes, 256);
  expectDisjoint(blocks, plan, 64);
}

TEST(Offsets, NothingAndEmptyBlocks) {
  EXPECT_EQ(offsetsShared({}, 64).bytes, 0);
  EXPECT_EQ(peakLive({}), 0);
  EXPECT_EQ(offsetsShared({{0, 3, 0}, {1, 2, 5}}, 1).bytes, 5);
}

TEST(Offsets, RandomPlansAreDisjointAndTheSameEachTime) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    Blocks blocks(random() % 40);
    for (Lifetime& block : blocks) {
      block.begin = random() % 30;
      block.end = block.begin + random() % 10;
      block.bytes = 1 + random() % 1000;
    }
    Offsets plan = offsetsShared(blocks, 64);
    expectDisjoint(blocks, plan, 64);
    EXPECT_GE(plan.bytes, peakLive(blocks));
    EXPECT_EQ(plan.at, offsetsShared(blocks, 64).at);
  }
}

}  // namespace
}  // namespace mxc::passes
