// Contributions of workers to a step of a chunk, and their sums by the tree over shards (tree.h): the same on a server of either level.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "runtime/core/plan.h"
#include "runtime/kv/tree.h"

namespace mxc::kv {

struct Contribution {
  std::string bytes;
  uint64_t weight = 0;  // 0: it is nothing
};

// By worker and part; not there: not come yet.
using Contributions = std::map<std::pair<uint32_t, uint32_t>, Contribution>;

// Contributions by the nodes that they are of.
class Summands {
 public:
  // Null, or one that weighs nothing: this part of a worker holds nothing.
  void add(Node part, Contribution* contribution) {
    given_[{part.first, part.end}] = contribution != nullptr && contribution->weight > 0 ? std::optional(contribution) : std::nullopt;
  }
  // The value of a node, with all that it weighs, in the place of one of its contributions, which are changed. Null: there is none.
  // Requires: the node is a union of parts that were added.
  Contribution* sum(Node node, plan::DType dtype) const;

 private:
  std::map<std::pair<int64_t, int64_t>, std::optional<Contribution*>> given_;
};

}  // namespace mxc::kv
