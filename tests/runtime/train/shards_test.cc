// How samples are shared out over shards and processes, and that the plan of a process's sums is the tree's.
#include "runtime/train/shards.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <string>

namespace mxc::train {
namespace {

std::vector<int64_t> order_of(int64_t samples) {
  std::vector<int64_t> order(static_cast<size_t>(samples));
  std::iota(order.begin(), order.end(), int64_t{100});
  return order;
}

TEST(Shards, TakeTheNextSamplesInOrder) {
  // Steps of 3 x 4 samples of 29: [0, 12), [12, 24), [24, 29): the last shard has none in the last step.
  const std::vector<int64_t> order = order_of(29);
  const auto own = [&](int64_t first, int64_t end) { return own_order({3, 4, {first, end}}, order); };
  EXPECT_EQ(own(0, 1), (std::vector<int64_t>{100, 101, 102, 103, 112, 113, 114, 115, 124, 125, 126, 127}));
  EXPECT_EQ(own(1, 2), (std::vector<int64_t>{104, 105, 106, 107, 116, 117, 118, 119, 128}));
  EXPECT_EQ(own(2, 3), (std::vector<int64_t>{108, 109, 110, 111, 120, 121, 122, 123}));
  EXPECT_EQ(own(0, 3), order);
  const Shards shards = {3, 4, {0, 3}};
  EXPECT_EQ(shards.samples_of(1, 24, 29), 1);
  EXPECT_EQ(shards.samples_of(2, 24, 29), 0);
}

TEST(Shards, DrawRandomNumbersOfTheirOwn) {
  EXPECT_EQ(seed_of(7, 0), 7u);
  std::set<uint64_t> seeds;
  for (int64_t shard = 0; shard < 1000; ++shard) seeds.insert(seed_of(7, shard));
  EXPECT_EQ(seeds.size(), 1000u);
}

// The sum of shards [first, end), with brackets.
std::string bracketed(kv::Node node) {
  if (node.end - node.first == 1) return std::to_string(node.first);
  return "(" + bracketed({node.first, node.middle()}) + "+" + bracketed({node.middle(), node.end}) + ")";
}

TEST(SumPlan, AddsByTheTree) {
  for (int64_t count = 1; count <= 9; ++count) {
    for (int64_t first = 0; first < count; ++first) {
      for (int64_t end = first + 1; end <= count; ++end) {
        const Shards shards = {count, 1, {first, end}};
        const SumPlan plan = plan_sums(shards);
        std::vector<std::string> places(plan.places);
        for (int64_t own = 0; own < shards.owned(); ++own) {
          places[plan.place[static_cast<size_t>(own)]] = std::to_string(first + own);
          for (auto [into, added] : plan.merges[static_cast<size_t>(own)]) places[into] = "(" + places[into] + "+" + places[added] + ")";
        }
        const std::vector<kv::Node> parts = kv::parts_of(shards.own, count);
        for (size_t part = 0; part < parts.size(); ++part) EXPECT_EQ(places[part], bracketed(parts[part])) << count << " " << first << " " << end;
      }
    }
  }
}

TEST(SumPlan, KeepsFewPlaces) { EXPECT_EQ(plan_sums({64, 1, {0, 64}}).places, 7u); }

}  // namespace
}  // namespace mxc::train
