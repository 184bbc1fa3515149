// See layered_layout.h. "Points" below are the nodes of the layered graph: boxes, and the bends of long edges, which are boxes without
// a height of 8 units' width.
#include "frontend/dsl/layered_layout.h"

#include <algorithm>
#include <numeric>

namespace mxc::detail {

namespace {

constexpr double kGapX = 24, kGapY = 40, kMargin = 16, kBend = 8;
constexpr int kOrderSweeps = 12, kPlaceSweeps = 16;

struct Point {
  int layer = 0;
  double width = kBend;
  double x = 0;  // of its middle
  std::vector<int> above, below;
  bool bend = false;
};

class Layout {
 public:
  explicit Layout(Drawing& drawing) : drawing_(drawing) {}

  void run() {
    chooseLayers();
    makePoints();
    order();
    place();
    write();
  }

 private:
  void chooseLayers() {
    points_.resize(drawing_.boxes.size());
    for (const DrawnEdge& edge : drawing_.edges)
      points_[edge.to].layer = std::max(points_[edge.to].layer, points_[edge.from].layer + 1);
    // A source stands right above its first user.
    std::vector<int> first_user(points_.size(), -1);
    std::vector<bool> source(points_.size(), true);
    for (const DrawnEdge& edge : drawing_.edges) {
      source[edge.to] = false;
      int& first = first_user[edge.from];
      first = first < 0 ? points_[edge.to].layer : std::min(first, points_[edge.to].layer);
    }
    for (size_t i = 0; i < points_.size(); ++i)
      if (source[i] && first_user[i] > 0) points_[i].layer = first_user[i] - 1;
  }

  void makePoints() {
    for (size_t i = 0; i < drawing_.boxes.size(); ++i) points_[i].width = drawing_.boxes[i].width;
    for (const DrawnEdge& edge : drawing_.edges) {
      std::vector<int> chain = {edge.from};
      for (int layer = points_[edge.from].layer + 1; layer < points_[edge.to].layer; ++layer) {
        chain.push_back(static_cast<int>(points_.size()));
        Point& bend = points_.emplace_back();
        bend.layer = layer;
        bend.bend = true;
      }
      chain.push_back(edge.to);
      for (size_t i = 0; i + 1 < chain.size(); ++i) {
        points_[chain[i]].below.push_back(chain[i + 1]);
        points_[chain[i + 1]].above.push_back(chain[i]);
      }
      chains_.push_back(std::move(chain));
    }
    for (size_t i = 0; i < points_.size(); ++i) {
      layers_.resize(std::max(layers_.size(), static_cast<size_t>(points_[i].layer) + 1));
      layers_[points_[i].layer].push_back(static_cast<int>(i));
    }
  }

  // Crossings between each two layers, counted pair by pair of edges in their order.
  int64_t crossings() const {
    std::vector<int> at = positions();
    int64_t count = 0;
    for (const std::vector<int>& layer : layers_) {
      std::vector<int> ends;
      for (int point : layer) {
        std::vector<int> own;
        for (int below : points_[point].below) own.push_back(at[below]);
        std::sort(own.begin(), own.end());
        ends.insert(ends.end(), own.begin(), own.end());
      }
      for (size_t i = 0; i < ends.size(); ++i)
        for (size_t j = i + 1; j < ends.size(); ++j) count += ends[i] > ends[j] ? 1 : 0;
    }
    return count;
  }

  std::vector<int> positions() const {
    std::vector<int> at(points_.size());
    for (const std::vector<int>& layer : layers_)
      for (size_t i = 0; i < layer.size(); ++i) at[layer[i]] = static_cast<int>(i);
    return at;
  }

  void order() {
    std::vector<std::vector<int>> best = layers_;
    int64_t fewest = crossings();
    for (int sweep = 0; sweep < kOrderSweeps && fewest > 0; ++sweep) {
      bool down = sweep % 2 == 0;
      for (size_t k = 0; k < layers_.size(); ++k) sortLayer(layers_[down ? k : layers_.size() - 1 - k], down);
      if (int64_t count = crossings(); count < fewest) {
        fewest = count;
        best = layers_;
      }
    }
    layers_ = best;
  }

  // By the mean place of the neighbours; a point without any stays where it is.
  void sortLayer(std::vector<int>& layer, bool down) {
    std::vector<int> at = positions();
    std::vector<std::pair<double, int>> keyed;
    for (int point : layer) {
      const std::vector<int>& neighbours = down ? points_[point].above : points_[point].below;
      double sum = 0;
      for (int n : neighbours) sum += at[n];
      keyed.emplace_back(neighbours.empty() ? at[point] : sum / static_cast<double>(neighbours.size()), point);
    }
    std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (size_t i = 0; i < layer.size(); ++i) layer[i] = keyed[i].second;
  }

  void place() {
    for (std::vector<int>& layer : layers_) {
      double x = 0;
      for (int point : layer) {
        points_[point].x = x + points_[point].width / 2;
        x += points_[point].width + kGapX;
      }
    }
    for (int sweep = 0; sweep < kPlaceSweeps; ++sweep)
      for (size_t k = 0; k < layers_.size(); ++k) placeLayer(layers_[sweep % 2 == 0 ? k : layers_.size() - 1 - k], sweep);
  }

  // The places nearest to the wanted ones (least squares, bends weigh more: long edges get straight) that keep order and distances:
  // neighbours that would come too close move together.
  void placeLayer(const std::vector<int>& layer, int sweep) {
    struct Run {
      double sum, weight;  // of wanted place less offset
      size_t count;
    };
    std::vector<Run> runs;
    std::vector<double> offsets;
    double offset = 0;
    for (size_t i = 0; i < layer.size(); ++i) {
      const Point& point = points_[layer[i]];
      if (i > 0) offset += (points_[layer[i - 1]].width + point.width) / 2 + kGapX;
      offsets.push_back(offset);
      double weight = point.bend ? 4 : 1;
      runs.push_back({(wanted(point, sweep) - offset) * weight, weight, 1});
      while (runs.size() > 1 && runs[runs.size() - 2].sum / runs[runs.size() - 2].weight > runs.back().sum / runs.back().weight) {
        Run last = runs.back();
        runs.pop_back();
        runs.back() = {runs.back().sum + last.sum, runs.back().weight + last.weight, runs.back().count + last.count};
      }
    }
    size_t i = 0;
    for (const Run& run : runs)
      for (size_t k = 0; k < run.count; ++k, ++i) points_[layer[i]].x = run.sum / run.weight + offsets[i];
  }

  double wanted(const Point& point, int sweep) const {
    double sum = 0, count = 0;
    bool last = sweep + 4 >= kPlaceSweeps;  // at the end both sides count
    for (int n : point.above)
      if (sweep % 2 == 0 || last) sum += points_[n].x, ++count;
    for (int n : point.below)
      if (sweep % 2 == 1 || last) sum += points_[n].x, ++count;
    return count > 0 ? sum / count : point.x;
  }

  void write() {
    double left = 0, right = 0, y = kMargin;
    for (const Point& point : points_) {
      left = std::min(left, point.x - point.width / 2);
      right = std::max(right, point.x + point.width / 2);
    }
    std::vector<std::pair<double, double>> rows;  // of each layer: its middle, its height
    for (const std::vector<int>& layer : layers_) {
      double height = 0;
      for (int point : layer)
        if (!points_[point].bend) height = std::max(height, drawing_.boxes[point].height);
      rows.emplace_back(y + height / 2, height);
      y += height + kGapY;
    }
    for (Point& point : points_) point.x += kMargin - left;
    for (size_t i = 0; i < drawing_.boxes.size(); ++i) {
      DrawnBox& box = drawing_.boxes[i];
      box.x = points_[i].x - box.width / 2;
      box.y = rows[points_[i].layer].first - box.height / 2;
    }
    drawing_.width = right - left + 2 * kMargin;
    drawing_.height = rows.empty() ? 2 * kMargin : y - kGapY + kMargin;
    for (size_t e = 0; e < chains_.size(); ++e) route(drawing_.edges[e], chains_[e], rows);
  }

  // A bend passes its layer straight, from the upper edge of the row to the lower.
  void route(DrawnEdge& edge, const std::vector<int>& chain, const std::vector<std::pair<double, double>>& rows) {
    const DrawnBox &from = drawing_.boxes[edge.from], &to = drawing_.boxes[edge.to];
    edge.points = {{port(edge.from, chain[1], false), from.y + from.height}};
    for (size_t i = 1; i + 1 < chain.size(); ++i) {
      auto [middle, height] = rows[points_[chain[i]].layer];
      edge.points.emplace_back(points_[chain[i]].x, middle - height / 2);
      edge.points.emplace_back(points_[chain[i]].x, middle + height / 2);
    }
    edge.points.emplace_back(port(edge.to, chain[chain.size() - 2], true), to.y);
  }

  // Where an edge meets its box: they are spread over the side in the order of the other ends.
  double port(int box, int other, bool upper) const {
    std::vector<int> ends = upper ? points_[box].above : points_[box].below;
    std::stable_sort(ends.begin(), ends.end(), [&](int a, int b) { return points_[a].x < points_[b].x; });
    double rank = static_cast<double>(std::find(ends.begin(), ends.end(), other) - ends.begin());
    double step = std::min(14.0, drawing_.boxes[box].width / static_cast<double>(ends.size() + 1));
    return points_[box].x + (rank - (static_cast<double>(ends.size()) - 1) / 2) * (upper ? step : 0);
  }

  Drawing& drawing_;
  std::vector<Point> points_;
  std::vector<std::vector<int>> layers_;  // points from left to right
  std::vector<std::vector<int>> chains_;  // of each edge: its points
};

}  // namespace

void layOut(Drawing& drawing) { Layout(drawing).run(); }

}  // namespace mxc::detail
