// See contributions.h.
#include "runtime/kv/contributions.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
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

uint64_t Summands::weight(Node node) const {
  uint64_t weight = 0;
  for (const auto& [part, contribution] : given_)
    if (contribution != nullptr && part.first >= node.first && part.second <= node.end) weight += contribution->weight;
  return weight;
}

// The first sum that is begun has room where the last one is wanted: that is made in it.
void Summands::sum(Node node, plan::DType dtype, std::span<char> into) const {
  Room room;
  for (size_t at = 0; at < into.size(); at += kBlock) {
    const size_t size = std::min(kBlock, into.size() - at);
    char* const place = into.data() + at;
    bool is_taken = false;
    std::optional<Term> term;  // of the part that was asked for last
    const auto known = [&](Node part) -> const std::optional<Term>* {
      const auto found = given_.find({part.first, part.end});
      if (found == given_.end()) return nullptr;
      term = found->second == nullptr ? std::nullopt : std::optional(Term{found->second->bytes.data() + at});
      return &term;
    };
    const auto add = [&](Term left, Term right) {
      char* sum = left.own != nullptr ? left.own : right.own != nullptr ? right.own : std::exchange(is_taken, true) ? room.take() : place;
      add_to(dtype, {left.elements, size}, {right.elements, size}, {sum, size});
      if (right.own != sum) room.give_back(right.own);
      return Term{sum, sum};
    };
    const std::optional<Term> sum = sum_of<Term>(node, known, add);
    if (sum->elements != place) std::memcpy(place, sum->elements, size);
  }
}

}  // namespace mxc::kv
