// See contributions.h.
#include "runtime/kv/contributions.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "runtime/kv/add.h"

namespace mxc::kv {

namespace {

constexpr size_t kBlock = 16 << 10;  // bytes: some of them are in the first cache at once

// A block of elements; in `own`, if it has been computed.
struct Term {
  const char* elements = nullptr;
  char* own = nullptr;
};

// Blocks that sums are made in.
class Room {
 public:
  char* take() {
    if (free_.empty()) {
      blocks_.push_back(std::make_unique_for_overwrite<char[]>(kBlock));
      return blocks_.back().get();
    }
    char* block = free_.back();
    free_.pop_back();
    return block;
  }
  void give_back(char* block) {
    if (block != nullptr) free_.push_back(block);
  }

 private:
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::vector<char*> free_;
};

}  // namespace

uint64_t Summands::sum(Node node, plan::DType dtype, std::span<char> into) const {
  uint64_t weight = 0;
  for (const auto& [part, contribution] : given_)
    if (contribution != nullptr && part.first >= node.first && part.second <= node.end) weight += contribution->weight;
  if (weight == 0) return 0;
  Room room;
  for (size_t at = 0; at < into.size(); at += kBlock) {
    const size_t size = std::min(kBlock, into.size() - at);
    std::optional<Term> term;  // of the part that was asked for last
    const auto known = [&](Node part) -> const std::optional<Term>* {
      const auto found = given_.find({part.first, part.end});
      if (found == given_.end()) return nullptr;
      term = found->second == nullptr ? std::nullopt : std::optional(Term{found->second->bytes.data() + at});
      return &term;
    };
    const auto add = [&](Term left, Term right) {
      if (left.own == nullptr) {
        left.own = room.take();
        std::memcpy(left.own, left.elements, size);
      }
      add_into(dtype, {left.own, size}, {right.elements, size});
      room.give_back(right.own);
      return Term{left.own, left.own};
    };
    const std::optional<Term> sum = sum_of<Term>(node, known, add);
    std::memcpy(into.data() + at, sum->elements, size);
    room.give_back(sum->own);
  }
  return weight;
}

}  // namespace mxc::kv
