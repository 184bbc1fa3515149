// See contributions.h.
#include "runtime/kv/contributions.h"

#include "runtime/kv/add.h"

namespace mxc::kv {

Contribution* Summands::sum(Node node, plan::DType dtype) const {
  const auto known = [&](Node part) -> const std::optional<Contribution*>* {
    const auto found = given_.find({part.first, part.end});
    return found == given_.end() ? nullptr : &found->second;
  };
  const auto add = [&](Contribution* left, Contribution* right) {
    add_into(dtype, left->bytes, right->bytes);
    left->weight += right->weight;
    return left;
  };
  return sum_of<Contribution*>(node, known, add).value_or(nullptr);
}

}  // namespace mxc::kv
