// Best fit over lifetimes. Placing long-lived or large blocks first keeps the gaps for the short and small ones.
#include "passes/offsets.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

namespace mxc::passes {
namespace {

int64_t alignUp(int64_t bytes, int64_t alignment) { return (bytes + alignment - 1) / alignment * alignment; }
bool meet(const Lifetime& a, const Lifetime& b) { return a.begin <= b.end && b.begin <= a.end; }

// The start of the smallest gap between `taken` ([begin, end) pairs, sorted) that holds `bytes`; behind all if none does.
int64_t bestGap(const std::vector<std::pair<int64_t, int64_t>>& taken, int64_t bytes) {
  int64_t best = -1, bestSize = 0, free = 0;
  for (auto [begin, end] : taken) {
    int64_t size = begin - free;
    if (size >= bytes && (best < 0 || size < bestSize)) best = free, bestSize = size;
    free = std::max(free, end);
  }
  return best < 0 ? free : best;
}

Offsets placeInOrder(const std::vector<Lifetime>& blocks, const std::vector<size_t>& order, int64_t alignment) {
  Offsets plan;
  plan.at.assign(blocks.size(), 0);
  std::vector<size_t> placed;
  for (size_t block : order) {
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (size_t other : placed)
      if (meet(blocks[block], blocks[other])) taken.push_back({plan.at[other], plan.at[other] + alignUp(blocks[other].bytes, alignment)});
    std::sort(taken.begin(), taken.end());
    int64_t bytes = alignUp(blocks[block].bytes, alignment);
    plan.at[block] = bestGap(taken, bytes);
    plan.bytes = std::max(plan.bytes, plan.at[block] + bytes);
    placed.push_back(block);
  }
  return plan;
}

}  // namespace

int64_t peakLive(const std::vector<Lifetime>& blocks) {
  std::map<int64_t, int64_t> change;
  for (const Lifetime& block : blocks) {
    change[block.begin] += block.bytes;
    change[block.end + 1] -= block.bytes;
  }
  int64_t live = 0, peak = 0;
  for (auto [time, bytes] : change) peak = std::max(peak, live += bytes);
  return peak;
}

Offsets offsetsApart(const std::vector<Lifetime>& blocks, int64_t alignment) {
  Offsets plan;
  for (const Lifetime& block : blocks) {
    plan.at.push_back(plan.bytes);
    plan.bytes += alignUp(block.bytes, alignment);
  }
  return plan;
}

Offsets offsetsShared(const std::vector<Lifetime>& blocks, int64_t alignment) {
  using Weight = std::function<double(const Lifetime&)>;
  auto size = [](const Lifetime& b) { return static_cast<double>(b.bytes); };
  auto life = [](const Lifetime& b) { return static_cast<double>(b.end - b.begin + 1); };
  Offsets best;
  for (const Weight& weight : {Weight(size), Weight(life), Weight([&](const Lifetime& b) { return size(b) * life(b); })}) {
    std::vector<size_t> order(blocks.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      double wa = weight(blocks[a]), wb = weight(blocks[b]);
      return wa != wb ? wa > wb : blocks[a].bytes > blocks[b].bytes;
    });
    Offsets plan = placeInOrder(blocks, order, alignment);
    if (best.at.size() != blocks.size() || plan.bytes < best.bytes) best = plan;
  }
  return best;
}

}  // namespace mxc::passes
