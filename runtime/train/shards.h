// Shards: how the samples of a step are shared out, and in which order a process adds up what its shards contribute. Pure arithmetic.
//
// A step takes the next `count` x `batch` samples of the epoch's order, shard after shard `batch` of them; in the last step of an epoch the last shards
// have fewer, or none. The order of an epoch does not depend on the number of processes, and neither does the tree by which contributions are added
// (kv/tree.h): so the bits of a training depend on the number of shards alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/core/philox.h"
#include "runtime/kv/tree.h"

namespace mxc::train {

struct Shards {
  int64_t count = 1;       // of the job
  int64_t batch = 1;       // samples of a shard in a step
  kv::Node own = {0, 1};   // of this process

  int64_t step_samples() const { return count * batch; }
  int64_t owned() const { return own.end - own.first; }
  // Samples of a shard in the step that begins at `position` of an epoch of `samples`.
  int64_t samples_of(int64_t shard, int64_t position, int64_t samples) const {
    return std::clamp<int64_t>(samples - position - shard * batch, 0, batch);
  }
};

// Those samples of an epoch's order that this process's shards take, in the order in which they take them.
inline std::vector<int64_t> own_order(const Shards& shards, const std::vector<int64_t>& order) {
  const auto samples = static_cast<int64_t>(order.size());
  std::vector<int64_t> own;
  own.reserve(static_cast<size_t>(samples / shards.count * shards.owned() + shards.batch * shards.owned()));
  for (int64_t position = 0; position < samples; position += shards.step_samples()) {
    for (int64_t shard = shards.own.first; shard < shards.own.end; ++shard) {
      const int64_t first = position + shard * shards.batch;
      const int64_t end = first + shards.samples_of(shard, position, samples);
      for (int64_t i = first; i < end; ++i) own.push_back(order[static_cast<size_t>(i)]);
    }
  }
  return own;
}

// The seed of a shard's random numbers, so that shards do not drop the same units: the first shard's is the training's.
inline uint64_t seed_of(uint64_t seed, int64_t shard) {
  if (shard == 0) return seed;
  const core::PhiloxBlock random = core::philox({{static_cast<uint32_t>(shard), static_cast<uint32_t>(shard >> 32), 0, 3}},
                                                {{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}});
  return uint64_t{random.word[1]} << 32 | random.word[0];
}

// How a process adds up. Places are numbered; what shard `own.first + i` contributes goes to place[i], and then, for each pair of merges[i] in
// order, place `second` is added to place `first`. In the end the sums of the parts, which are parts_of(own, count) if not said otherwise, lie in the first
// places.
struct SumPlan {
  size_t places = 0;
  std::vector<size_t> place;
  std::vector<std::vector<std::pair<size_t, size_t>>> merges;
};

inline void plan_sum(kv::Node node, size_t at, SumPlan& plan) {
  plan.places = std::max(plan.places, at + 1);
  if (node.end - node.first == 1) {
    plan.place.push_back(at);
    plan.merges.emplace_back();
    return;
  }
  plan_sum({node.first, node.middle()}, at, plan);
  plan_sum({node.middle(), node.end}, at + 1, plan);
  plan.merges.back().push_back({at, at + 1});
}

inline SumPlan plan_sums(const std::vector<kv::Node>& parts) {
  SumPlan plan;
  size_t part = 0;
  for (kv::Node node : parts) plan_sum(node, part++, plan);
  return plan;
}
// Nothing is added: what one shard contributes is gone before the next one's comes.
inline SumPlan plan_apart(int64_t shards) {
  const auto count = static_cast<size_t>(shards);
  return {1, std::vector<size_t>(count, 0), std::vector<std::vector<std::pair<size_t, size_t>>>(count)};
}
inline SumPlan plan_sums(const Shards& shards) { return plan_sums(kv::parts_of(shards.own, shards.count)); }

}  // namespace mxc::train
