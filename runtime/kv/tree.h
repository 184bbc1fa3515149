// Tree: the fixed binary tree over the shards of a job, by which gradients are added.
//
// Floating-point sums depend on their order. So the order is fixed by the number of shards alone: a node over shards [first, end) is the
// sum of its left child, over as many of them as the largest power of two below their number, and of its right child. A worker has a
// contiguous range of shards. It adds those nodes that lie in its range, and contributes the largest of them, its parts, of which there
// is one if the shards divide evenly by a power of two. Whoever adds the parts up gets the bits of one process with all the shards.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace mxc::kv {

// Shards [first, end), not empty.
struct Node {
  int64_t first = 0, end = 0;
  bool operator==(const Node&) const = default;

  // Where the right child begins. Requires: more than one shard.
  int64_t middle() const { return first + static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(end - first - 1))); }
};

// The shards of a worker: the first so many of `workers` have one more if they do not divide evenly.
// Requires: workers <= shards.
inline Node shards_of(int64_t worker, int64_t workers, int64_t shards) {
  return {worker * shards / workers, (worker + 1) * shards / workers};
}

// The largest nodes of the tree over [0, shards) that lie in `range`, in order.
inline std::vector<Node> parts_of(Node range, int64_t shards) {
  std::vector<Node> parts;
  std::vector<Node> open = {{0, shards}};
  while (!open.empty()) {
    const Node node = open.back();
    open.pop_back();
    if (node.end <= range.first || node.first >= range.end) continue;
    if (node.first >= range.first && node.end <= range.end) {
      parts.push_back(node);
      continue;
    }
    open.push_back({node.middle(), node.end});
    open.push_back({node.first, node.middle()});
  }
  return parts;
}

// The value of `node`. `known(node)` is its value where that is given (an optional of T; may hold nothing for a shard that contributes
// nothing) and otherwise null; `add(T left, T right)` is the sum. A node of which only one child has a value has that one's.
template <typename T, typename Known, typename Add>
std::optional<T> sum_of(Node node, const Known& known, const Add& add) {
  if (const std::optional<T>* value = known(node)) return *value;
  if (node.end - node.first == 1) return std::nullopt;
  std::optional<T> left = sum_of<T>({node.first, node.middle()}, known, add);
  std::optional<T> right = sum_of<T>({node.middle(), node.end}, known, add);
  if (!left.has_value()) return right;
  if (!right.has_value()) return left;
  return add(*std::move(left), *std::move(right));
}

}  // namespace mxc::kv
