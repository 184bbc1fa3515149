// Machines: which processes of a job are on one machine, and add their contributions up there before these leave it.
//
// Of each chunk that another machine's process holds, one process of the machine is the server of level 1: it adds what the processes of its machine
// contribute, as far as the tree over shards allows, contributes the sums to the chunk's server (that of level 2), and brings its values. The chunks are
// dealt out to the processes of the machine in turn. Processes on the machine of the chunk's server need none: they speak to it themselves.
//
// The text by which a member says where it is: where its server of level 2 listens, or nothing; and if it adds up with others, where its server of level 1
// does, and its machine, each behind a blank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mxc::kv {

struct Place {
  std::string server, level1, machine;  // empty: none
  bool operator==(const Place&) const = default;
};

std::string to_string(const Place& place);
Place parse_place(const std::string& text);

// Of each member, by rank.
std::vector<std::string> machine_names(const std::vector<std::string>& places);

class Machines {
 public:
  Machines() = default;  // each process by itself
  // `names`: by rank; a process without one is by itself, and so are all if they are on one machine, which nothing leaves.
  explicit Machines(const std::vector<std::string>& names);

  // There is no level 1.
  bool empty() const { return members_of_.empty(); }
  // The ranks on a rank's machine, in order, itself among them. Requires: not empty.
  const std::vector<uint32_t>& members(uint32_t rank) const { return members_of_[rank]; }
  bool share(uint32_t one, uint32_t other) const;
  // The rank on this rank's machine whose turn it is. Requires: not empty.
  uint32_t in_turn(uint64_t turn, uint32_t rank) const { return members_of_[rank][turn % members_of_[rank].size()]; }

 private:
  std::vector<std::vector<uint32_t>> members_of_;  // by rank
};

}  // namespace mxc::kv
