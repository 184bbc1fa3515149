// The tree over shards: its nodes, the parts of workers, and that they add up to the bits of one process.
#include "runtime/kv/tree.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace mxc::kv {
namespace {

// What the tree adds, written out.
std::string written(Node node, const std::vector<std::optional<std::string>>& shards) {
  auto known = [&](Node n) { return n.end - n.first == 1 ? &shards[static_cast<size_t>(n.first)] : nullptr; };
  auto add = [](std::string a, std::string b) { return "(" + a + "+" + b + ")"; };
  return sum_of<std::string>(node, known, add).value_or("nothing");
}

TEST(Tree, IsBalancedToTheLeft) {
  EXPECT_EQ(written({0, 1}, {"a"}), "a");
  EXPECT_EQ(written({0, 4}, {"a", "b", "c", "d"}), "((a+b)+(c+d))");
  EXPECT_EQ(written({0, 5}, {"a", "b", "c", "d", "e"}), "(((a+b)+(c+d))+e)");
  EXPECT_EQ(written({0, 6}, {"a", "b", "c", "d", "e", "f"}), "(((a+b)+(c+d))+(e+f))");
}

TEST(Tree, LeavesOutShardsThatContributeNothing) {
  EXPECT_EQ(written({0, 4}, {"a", std::nullopt, std::nullopt, "d"}), "(a+d)");
  EXPECT_EQ(written({0, 4}, {std::nullopt, std::nullopt, "c", "d"}), "(c+d)");
  EXPECT_EQ(written({0, 2}, {std::nullopt, std::nullopt}), "nothing");
}

TEST(Tree, WorkersHaveContiguousShardsThatCoverAll) {
  EXPECT_EQ(shards_of(0, 2, 4), (Node{0, 2}));
  EXPECT_EQ(shards_of(1, 2, 4), (Node{2, 4}));
  for (int64_t shards = 1; shards <= 9; ++shards) {
    for (int64_t workers = 1; workers <= shards; ++workers) {
      int64_t next = 0;
      for (int64_t worker = 0; worker < workers; ++worker) {
        const Node range = shards_of(worker, workers, shards);
        EXPECT_EQ(range.first, next);
        EXPECT_LT(range.first, range.end);
        next = range.end;
      }
      EXPECT_EQ(next, shards);
    }
  }
}

TEST(Tree, PartsAreTheLargestNodes) {
  EXPECT_EQ(parts_of({2, 4}, 4), (std::vector<Node>{{2, 4}}));
  EXPECT_EQ(parts_of({0, 3}, 6), (std::vector<Node>{{0, 2}, {2, 3}}));
  EXPECT_EQ(parts_of({3, 6}, 6), (std::vector<Node>{{3, 4}, {4, 6}}));
  EXPECT_EQ(parts_of({0, 6}, 6), (std::vector<Node>{{0, 6}}));
}

// Any number of workers, each adding its parts, has the bits of one.
TEST(Tree, BitsDoNotDependOnTheNumberOfWorkers) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  auto add = [](float a, float b) { return a + b; };
  int differs_in_order_of_ranks = 0;
  for (int round = 0; round < 200; ++round) {
    const int64_t shards = 1 + static_cast<int64_t>(random() % 12);
    std::vector<std::optional<float>> values(static_cast<size_t>(shards));
    float in_order = 0;
    for (auto& value : values) in_order += *(value = normal(random));
    auto leaf = [&](Node n) { return n.end - n.first == 1 ? &values[static_cast<size_t>(n.first)] : nullptr; };
    const float whole = *sum_of<float>({0, shards}, leaf, add);
    differs_in_order_of_ranks += whole != in_order;
    for (int64_t workers = 1; workers <= shards; ++workers) {
      std::vector<std::pair<Node, std::optional<float>>> parts;
      for (int64_t worker = 0; worker < workers; ++worker)
        for (Node part : parts_of(shards_of(worker, workers, shards), shards))
          parts.emplace_back(part, sum_of<float>(part, leaf, add));
      auto known = [&](Node n) -> const std::optional<float>* {
        for (const auto& [part, value] : parts)
          if (part == n) return &value;
        return nullptr;
      };
      EXPECT_EQ(*sum_of<float>({0, shards}, known, add), whole) << shards << " shards, " << workers << " workers";
    }
  }
  EXPECT_GT(differs_in_order_of_ranks, 20);  // or the order would prove nothing
}

}  // namespace
}  // namespace mxc::kv
