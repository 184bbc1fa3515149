// Where the processes of a job run, and by which address each of those machines reaches this one.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "driver/launch.h"

namespace mxc::driver {

class JobHosts {
 public:
  // Reads the file of hosts, if there is one. Error: it cannot be read, is wrong, or has too few slots; a host has no address; no way leads there.
  absl::Status read(const LaunchOptions& options);

  // Do all run on this machine? If not, there is a host for each rank.
  bool here() const { return hosts_.empty(); }
  int size() const { return static_cast<int>(hosts_.size()); }
  const std::string& of(int rank) const { return hosts_[static_cast<size_t>(rank)]; }

  // Where the scheduler is to listen: at one address if all see this machine by it.
  std::string listening() const;
  // The address at which it listens, as a rank sees it.
  std::string seen_from(int rank, const std::string& address) const;

 private:
  std::vector<std::string> hosts_, addresses_;  // of each rank
};

}  // namespace mxc::driver
