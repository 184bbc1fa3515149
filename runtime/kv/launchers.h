// Launchers of others: which variables tell a process that it is one of several, and where those meet.
//
// Each is a row of a table (launchers.cc). The first row that speaks of more than one process is believed, and all others that do must say the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kv/identity.h"

namespace mxc::kv {

struct Launcher;

// What a launcher says. `variables`: "OMPI_COMM_WORLD_RANK=1 of OMPI_COMM_WORLD_SIZE=4".
struct Place {
  const Launcher* launcher = nullptr;
  std::string name, variables;
  uint32_t rank = 0, size = 1;
  bool is_scheduler = false, is_idle = false;  // roles without a rank
};

// Of all launchers that speak of more than one process, in the order of belief. Error: one says half, no number, or a rank that is not below the size.
// `of_mxc`: variables of mxc's own are those of `mxc launch`, and no launcher.
absl::StatusOr<std::vector<Place>> places(const Environment& environment, bool of_mxc);

// Error, naming both: they are not about the same process.
absl::Status check_alike(const Place& place, const Place& other);

// The whole identity. Error: nothing says where the processes meet.
absl::StatusOr<Identity> identity_of(const Environment& environment, const Place& place);

// The first host of a list as Slurm writes it: "node[03-05,9],login" is node03.
std::string first_host(const std::string& list);

// Of text, for a number or a port that all who know the text agree on (FNV-1a).
uint64_t agreed_number(const std::string& text);

// What MXC_SHARDS and MXC_SERVERS say, where they are set.
absl::Status read_counts(const Environment& environment, Identity& identity);

// A whole number from 0 to `most` in a variable that is set. Error: it is something else.
absl::StatusOr<int64_t> number_in(const Environment& environment, const char* name, int64_t most);

// Whether MXC_INSECURE allows the job to run without keys. Error: it is neither 0 nor 1.
absl::Status read_insecure(const Environment& environment, bool& insecure);

}  // namespace mxc::kv
