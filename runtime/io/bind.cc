// See bind.h.
#include "runtime/io/bind.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/core/plan_view.h"

namespace mxc::io {
namespace {

std::vector<int64_t> without_ones(const std::vector<int64_t>& shape) {
  std::vector<int64_t> out;
  for (int64_t extent : shape) {
    if (extent != 1) out.push_back(extent);
  }
  return out;
}

std::string names_of(const std::vector<Field>& offered) {
  return absl::StrJoin(offered, ", ", [](std::string* out, const Field& field) {
    absl::StrAppend(out, field.name, " (", shape_text(field.shape), ")");
  });
}

bool agrees(const Field& offer, const Field& input) {
  return shapes_agree(offer.shape, input.shape) && (is_floating(input.dtype) || !is_floating(offer.dtype));
}

class Binder {
 public:
  Binder(const Uri& uri, const std::vector<Field>& inputs, const std::vector<Field>& offered)
      : uri_(uri), inputs_(inputs), offered_(offered), chosen_(inputs.size(), -1), used_(offered.size(), false) {}

  absl::StatusOr<std::vector<int>> bind() {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const std::string* asked = uri_.find(inputs_[i].name);
      const int offer = find(asked != nullptr ? *asked : inputs_[i].name);
      if (offer < 0 && asked != nullptr) {
        return absl::InvalidArgumentError(
            absl::StrCat(uri_.text, ": there is no field '", *asked, "'; fields: ", names_of(offered_)));
      }
      if (offer >= 0) take(i, offer);
    }
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (chosen_[i] >= 0) continue;
      const int offer = only_candidate(inputs_[i]);
      if (offer >= 0) {
        take(i, offer);
      } else if (!inputs_[i].optional) {
        return absl::InvalidArgumentError(absl::StrCat(uri_.text, ": no field for the model's input '", inputs_[i].name, "' (",
                                                       shape_text(inputs_[i].shape), " ", core::dtype_name(inputs_[i].dtype),
                                                       "); fields: ", names_of(offered_)));
      }
    }
    return chosen_;
  }

 private:
  int find(const std::string& name) const {
    for (size_t c = 0; c < offered_.size(); ++c) {
      if (offered_[c].name == name) return static_cast<int>(c);
    }
    return -1;
  }

  int only_candidate(const Field& input) const {
    int candidate = -1;
    for (size_t c = 0; c < offered_.size(); ++c) {
      if (used_[c] || !agrees(offered_[c], input)) continue;
      if (candidate >= 0) return -1;
      candidate = static_cast<int>(c);
    }
    return candidate;
  }

  void take(size_t input, int offer) {
    chosen_[input] = offer;
    used_[offer] = true;
  }

  const Uri& uri_;
  const std::vector<Field>& inputs_;
  const std::vector<Field>& offered_;
  std::vector<int> chosen_;
  std::vector<bool> used_;
};

}  // namespace

bool shapes_agree(const std::vector<int64_t>& have, const std::vector<int64_t>& want) {
  const std::vector<int64_t> a = without_ones(have), b = without_ones(want);
  if (a == b) return true;
  int64_t products[2] = {1, 1};
  for (int64_t extent : a) products[0] *= extent;
  for (int64_t extent : b) products[1] *= extent;
  return products[0] == products[1] && (a.size() == 1 || b.size() == 1);
}

absl::StatusOr<std::vector<int>> bind_fields(const Uri& uri, const std::vector<Field>& inputs, const std::vector<Field>& offered) {
  return Binder(uri, inputs, offered).bind();
}

absl::Status check_parameters(const Uri& uri, const std::vector<std::string>& options, const std::vector<Field>& inputs) {
  for (const auto& [key, value] : uri.parameters) {
    bool known = false;
    for (const std::string& option : options) known |= option == key;
    for (const Field& input : inputs) known |= input.name == key;
    if (known) continue;
    std::vector<std::string> names = options;
    for (const Field& input : inputs) names.push_back(absl::StrCat(input.name, " (input)"));
    return absl::InvalidArgumentError(
        absl::StrCat(uri.text, ": unknown parameter '", key, "'; known: ", absl::StrJoin(names, ", ")));
  }
  return absl::OkStatus();
}

}  // namespace mxc::io
