// Consistency: what a value must have in it when it is pulled. One rule: a pull names a version, and the server answers when it is there.
//
//   sync        step t of a chunk is the sum of all workers' contributions to it; who has pushed t gets version t
//   bounded(s)  the same sums; who has pushed t gets version t - s or a later one. s = 0 is sync
//   async       each worker's contribution is a step of its own, in the order of arrival; who has pushed t gets a value with these in it
//
// Level 1 is what is below that: the shards of a worker. Their contributions are added to one before it leaves, or, in async alone, each is a push of its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace mxc::kv {

struct Consistency {
  enum class Kind : uint8_t { bounded, async };
  Kind kind = Kind::bounded;
  uint64_t staleness = 0;  // s
  bool each_shard = false;  // level 1 is async, too

  bool is_async() const { return kind == Kind::async; }
  // What a worker that has pushed `step` times pulls.
  uint64_t version_for(uint64_t step) const { return step - std::min(step, staleness); }
  // So many steps of a chunk may be on their way that are not committed.
  uint64_t window() const { return staleness + 2; }
  bool operator==(const Consistency&) const = default;
};

// "sync", "bounded:2", "async", "async, each shard".
inline std::string to_string(const Consistency& consistency) {
  if (consistency.is_async()) return consistency.each_shard ? "async, each shard" : "async";
  return consistency.staleness == 0 ? "sync" : "bounded:" + std::to_string(consistency.staleness);
}

}  // namespace mxc::kv
