// The layout of drawings: what must hold of every one, on graphs whose good drawing is known.
#include "frontend/dsl/layered_layout.h"

#include <gtest/gtest.h>

#include <random>

namespace mxc::detail {
namespace {

Drawing drawing(int boxes, std::vector<std::pair<int, int>> edges) {
  Drawing result;
  for (int i = 0; i < boxes; ++i) result.boxes.push_back({.width = 60.0 + 10 * (i % 3), .height = 30});
  for (auto [from, to] : edges) result.edges.push_back({from, to});
  layOut(result);
  return result;
}

double middle(const DrawnBox& box) { return box.x + box.width / 2; }

void check(const Drawing& d) {
  for (size_t i = 0; i < d.boxes.size(); ++i) {
    const DrawnBox& a = d.boxes[i];
    EXPECT_GE(a.x, 0);
    EXPECT_GE(a.y, 0);
    EXPECT_LE(a.x + a.width, d.width + 1e-9);
    EXPECT_LE(a.y + a.height, d.height + 1e-9);
    for (size_t j = 0; j < i; ++j) {
      const DrawnBox& b = d.boxes[j];
      bool apart = a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;
      EXPECT_TRUE(apart) << i << " lies over " << j;
    }
  }
  for (const DrawnEdge& edge : d.edges) {
    const DrawnBox &from = d.boxes[edge.from], &to = d.boxes[edge.to];
    EXPECT_GE(to.y, from.y + from.height);
    ASSERT_GE(edge.points.size(), 2u);
    EXPECT_NEAR(edge.points.front().second, from.y + from.height, 1e-9);
    EXPECT_NEAR(edge.points.back().second, to.y, 1e-9);
    for (size_t i = 1; i < edge.points.size(); ++i) EXPECT_GE(edge.points[i].second, edge.points[i - 1].second);
    // A bend keeps clear of the boxes that it passes.
    for (size_t i = 1; i + 1 < edge.points.size(); ++i)
      for (const DrawnBox& box : d.boxes) {
        auto [x, y] = edge.points[i];
        EXPECT_FALSE(x > box.x && x < box.x + box.width && y > box.y && y < box.y + box.height);
      }
  }
}

TEST(LayeredLayout, NothingAndOneBox) {
  check(drawing(0, {}));
  check(drawing(1, {}));
}

TEST(LayeredLayout, AChainIsStraight) {
  Drawing d = drawing(4, {{0, 1}, {1, 2}, {2, 3}});
  check(d);
  for (const DrawnBox& box : d.boxes) EXPECT_NEAR(middle(box), middle(d.boxes[0]), 1);
}

TEST(LayeredLayout, ASourceStandsAboveItsUser) {
  Drawing d = drawing(5, {{0, 1}, {1, 2}, {2, 4}, {3, 4}});
  check(d);
  EXPECT_EQ(d.boxes[3].y, d.boxes[2].y);
}

TEST(LayeredLayout, AShortcutBendsAroundWhatItPasses) {
  Drawing d = drawing(4, {{0, 1}, {1, 2}, {2, 3}, {0, 3}});
  check(d);
  EXPECT_EQ(d.edges[3].points.size(), 6u);  // two layers passed, each straight
}

TEST(LayeredLayout, UncrossesTwoChains) {
  // 0 and 1 in a layer, 2 and 3 in the next: 0 -> 3 and 1 -> 2 cross in the order of the numbers.
  Drawing d = drawing(4, {{0, 3}, {1, 2}});
  check(d);
  EXPECT_EQ(d.boxes[0].x < d.boxes[1].x, d.boxes[3].x < d.boxes[2].x);
}

TEST(LayeredLayout, RandomGraphsKeepTheRules) {
  std::mt19937 random(3);
  for (int graph = 0; graph < 30; ++graph) {
    int boxes = 2 + static_cast<int>(random() % 30);
    std::vector<std::pair<int, int>> edges;
    for (int to = 1; to < boxes; ++to)
      for (unsigned k = 0; k < random() % 3; ++k) edges.emplace_back(static_cast<int>(random() % static_cast<unsigned>(to)), to);
    check(drawing(boxes, edges));
  }
}

}  // namespace
}  // namespace mxc::detail
