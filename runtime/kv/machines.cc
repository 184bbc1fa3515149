// See machines.h.
#include "runtime/kv/machines.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace mxc::kv {

std::string to_string(const Place& place) {
  return place.level1.empty() ? place.server : absl::StrCat(place.server, " ", place.level1, " ", place.machine);
}

Place parse_place(const std::string& text) {
  const std::vector<std::string> words = absl::StrSplit(text, ' ');
  return words.size() == 3 ? Place{words[0], words[1], words[2]} : Place{text, "", ""};
}

std::vector<std::string> machine_names(const std::vector<std::string>& places) {
  std::vector<std::string> names;
  for (const std::string& place : places) names.push_back(parse_place(place).machine);
  return names;
}

Machines::Machines(const std::vector<std::string>& names) {
  std::map<std::string, std::vector<uint32_t>> ranks;
  for (uint32_t rank = 0; rank < names.size(); ++rank)
    if (!names[rank].empty()) ranks[names[rank]].push_back(rank);
  const bool shared = std::any_of(ranks.begin(), ranks.end(), [&](const auto& machine) { return machine.second.size() > 1 && machine.second.size() < names.size(); });
  for (uint32_t rank = 0; shared && rank < names.size(); ++rank)
    members_of_.push_back(names[rank].empty() ? std::vector<uint32_t>{rank} : ranks[names[rank]]);
}

bool Machines::share(uint32_t one, uint32_t other) const {
  const std::vector<uint32_t>& members = members_of_[one];
  return std::binary_search(members.begin(), members.end(), other);
}

}  // namespace mxc::kv
