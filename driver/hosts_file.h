// Files of hosts, for `mxc launch -H`: a line "HOST" or "HOST slots=N" for each machine, N processes there (1 if it does not say); "#" begins a comment.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mxc::driver {

struct Host {
  std::string name;
  int slots = 1;
};

// `path` is for messages. Error: a line that is none of these, with its place; no host at all.
absl::StatusOr<std::vector<Host>> parse_hosts(const std::string& path, absl::string_view text);

// The host of each of `workers` processes, the slots of the first machine first; 0: as many as there are slots. Error: there are fewer slots.
absl::StatusOr<std::vector<std::string>> spread(const std::string& path, const std::vector<Host>& hosts, int workers);

}  // namespace mxc::driver
