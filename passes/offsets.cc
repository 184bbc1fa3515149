// Best fit over lifetimes: blocks are placed one by one. Large or long-lived ones first keep the gaps for the short and small ones; those in
// use when most bytes are first are stacked without gaps, and with them all bytes that the bound counts.
#include "passes/offsets.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace mxc::passes {
namespace {

int64_t alignUp(int64_t bytes, int64_t alignment) { return (bytes + alignment - 1) / alignment * alignment; }
bool meet(const Lifetime& a, const Lifetime& b) { return a.begin <= b.end && b.begin <= a.end; }

// A block that has its place: bytes [at, end).
struct Placed {
  int64_t at, end;
  size_t block;
};

// The start of the smallest gap that holds `block` between those of `placed` (sorted by place) that it meets; behind all if none does.
int64_t bestGap(const std::vector<Placed>& placed, const std::vector<Lifetime>& blocks, const Lifetime& block) {
  int64_t best = -1, bestSize = 0, free = 0;
  for (const Placed& other : placed) {
    if (!meet(blocks[other.block], block)) continue;
    int64_t size = other.at - free;
    if (size >= block.bytes && (best < 0 || size < bestSize)) best = free, bestSize = size;
    free = std::max(free, other.end);
  }
  return best < 0 ? free : best;
}

Offsets placeInOrder(const std::vector<Lifetime>& blocks, const std::vector<size_t>& order) {
  Offsets plan;
  plan.at.assign(blocks.size(), 0);
  std::vector<Placed> placed;
  for (size_t block : order) {
    int64_t bytes = blocks[block].bytes, at = bestGap(placed, blocks, blocks[block]);
    plan.at[block] = at;
    plan.bytes = std::max(plan.bytes, at + bytes);
    auto place = std::upper_bound(placed.begin(), placed.end(), at, [](int64_t a, const Placed& other) { return a < other.at; });
    placed.insert(place, {at, at + bytes, block});
  }
  return plan;
}

// The largest sum of bytes in use at one time, and the first such time.
struct Peak {
  int64_t bytes = 0, time = 0;
};
Peak peakOf(const std::vector<Lifetime>& blocks) {
  std::map<int64_t, int64_t> change;
  for (const Lifetime& block : blocks) {
    change[block.begin] += block.bytes;
    change[block.end + 1] -= block.bytes;
  }
  Peak peak;
  int64_t live = 0;
  for (auto [time, bytes] : change)
    if ((live += bytes) > peak.bytes) peak = {live, time};
  return peak;
}

// Blocks with a small key come first; among equals the larger.
using Key = double (*)(const Lifetime& block, int64_t peak);
double largest(const Lifetime& b, int64_t) { return -static_cast<double>(b.bytes); }
double longest(const Lifetime& b, int64_t) { return -static_cast<double>(b.end - b.begin + 1); }
double largestProduct(const Lifetime& b, int64_t) { return -static_cast<double>(b.bytes) * static_cast<double>(b.end - b.begin + 1); }
double first(const Lifetime& b, int64_t) { return static_cast<double>(b.begin); }
double last(const Lifetime& b, int64_t) { return -static_cast<double>(b.begin); }
double firstToEnd(const Lifetime& b, int64_t) { return static_cast<double>(b.end); }
double lastToEnd(const Lifetime& b, int64_t) { return -static_cast<double>(b.end); }
double nearest(const Lifetime& b, int64_t peak) { return static_cast<double>(std::max(b.begin - peak, peak - b.end)); }
constexpr Key kAll[] = {largest, longest, largestProduct};
constexpr Key kAtPeak[] = {lastToEnd, first, largest, longest, largestProduct, firstToEnd, last};
constexpr Key kElsewhere[] = {largest, longest, largestProduct, nearest};

// Those in use at time `peak` by one key, then the others by another.
std::vector<size_t> sortedBlocks(const std::vector<Lifetime>& blocks, int64_t peak, Key atPeak, Key elsewhere) {
  std::vector<std::tuple<bool, double, double, size_t>> ranks;
  for (const Lifetime& b : blocks) {
    bool inUse = b.begin <= peak && peak <= b.end;
    ranks.push_back({atPeak != elsewhere && !inUse, (inUse ? atPeak : elsewhere)(b, peak), largest(b, peak), ranks.size()});
  }
  std::sort(ranks.begin(), ranks.end());
  std::vector<size_t> order;
  for (const auto& rank : ranks) order.push_back(std::get<3>(rank));
  return order;
}

// A plan that is more than a thousandth above the bound is tried again with the first block that had no room below the bound placed earlier, in
// the middle of those before it; so a block that is in the way of others finds its place among them (Joslin and Clements 1999).
Offsets repaired(const std::vector<Lifetime>& blocks, std::vector<size_t> order, int64_t bound, Offsets best) {
  constexpr int kRounds = 200;  // unrolled recurrent nets take some tens
  Offsets plan = best;
  for (int round = 0; round < kRounds && best.bytes - bound > bound / 1000; ++round) {
    auto misfit = std::find_if(order.begin(), order.end(), [&](size_t block) { return plan.at[block] + blocks[block].bytes > bound; });
    std::rotate(order.begin() + (misfit - order.begin()) / 2, misfit, misfit + 1);
    plan = placeInOrder(blocks, order);
    if (plan.bytes < best.bytes) best = plan;
  }
  return best;
}

}  // namespace

int64_t peakLive(const std::vector<Lifetime>& blocks) { return peakOf(blocks).bytes; }

Offsets offsetsApart(const std::vector<Lifetime>& blocks, int64_t alignment) {
  Offsets plan;
  for (const Lifetime& block : blocks) {
    plan.at.push_back(plan.bytes);
    plan.bytes += alignUp(block.bytes, alignment);
  }
  return plan;
}

Offsets offsetsShared(const std::vector<Lifetime>& blocks, int64_t alignment) {
  std::vector<Lifetime> aligned = blocks;
  for (Lifetime& block : aligned) block.bytes = alignUp(block.bytes, alignment);
  Peak peak = peakOf(aligned);
  Offsets best;
  std::vector<size_t> bestOrder;
  auto attempt = [&](Key atPeak, Key elsewhere) {
    if (!best.at.empty() && best.bytes == peak.bytes) return;
    std::vector<size_t> order = sortedBlocks(aligned, peak.time, atPeak, elsewhere);
    Offsets plan = placeInOrder(aligned, order);
    if (best.at.empty() || plan.bytes < best.bytes) best = plan, bestOrder = std::move(order);
  };
  for (Key key : kAll) attempt(key, key);
  for (Key atPeak : kAtPeak)
    for (Key elsewhere : kElsewhere) attempt(atPeak, elsewhere);
  return repaired(aligned, std::move(bestOrder), peak.bytes, std::move(best));
}

}  // namespace mxc::passes
