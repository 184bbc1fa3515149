// Contributions of workers to a step of a chunk, and their sums by the tree over shards (tree.h): the same on a server of either level. They are added block after
// block: of memory each is read once, and sums of some of them stay in the processor's cache. Elements do not depend on each other, so the bits are those of whole arrays.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "runtime/core/plan.h"
#include "runtime/kv/frame.h"
#include "runtime/kv/tree.h"

namespace mxc::kv {

struct Contribution {
  Frame bytes;
  uint64_t weight = 0;  // 0: it is nothing
};

// By worker and part; not there: not come yet.
using Contributions = std::map<std::pair<uint32_t, uint32_t>, Contribution>;

// Contributions by the nodes that they are of.
class Summands {
 public:
  // Null, or one that weighs nothing: this part of a worker holds nothing.
  void add(Node part, const Contribution* contribution) {
    given_[{part.first, part.end}] = contribution != nullptr && contribution->weight > 0 ? contribution : nullptr;
  }
  // What a node weighs; 0: it has no value. Requires: it is a union of parts that were added.
  uint64_t weight(Node node) const;
  // Puts the value of such a node into `into`. Requires: it weighs something; parts of it that do have as many bytes as `into`; is_added(dtype).
  void sum(Node node, plan::DType dtype, std::span<char> into) const;

 private:
  std::map<std::pair<int64_t, int64_t>, const Contribution*> given_;  // null: it holds nothing
};

}  // namespace mxc::kv
