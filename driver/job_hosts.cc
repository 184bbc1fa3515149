// See job_hosts.h.
#include "driver/job_hosts.h"

#include <algorithm>
#include <set>
#include <utility>

#include "driver/files.h"
#include "driver/hosts_file.h"
#include "driver/remote.h"
#include "runtime/kv/reach.h"

namespace mxc::driver {

absl::Status JobHosts::read(const LaunchOptions& options) {
  if (options.hosts_file.empty()) return absl::OkStatus();
  auto text = readWholeFile(options.hosts_file);
  if (!text) return absl::InvalidArgumentError(options.hosts_file + ": " + toString(text.takeError()));
  const absl::StatusOr<std::vector<Host>> hosts = parse_hosts(options.hosts_file, *text);
  if (!hosts.ok()) return hosts.status();
  absl::StatusOr<std::vector<std::string>> places = spread(options.hosts_file, *hosts, options.workers);
  if (!places.ok()) return places.status();
  hosts_ = *std::move(places);
  addresses_.assign(hosts_.size(), options.address);
  if (!options.address.empty()) return absl::OkStatus();
  absl::StatusOr<std::vector<std::string>> addresses = addresses_to(hosts_);
  if (addresses.ok()) addresses_ = *std::move(addresses);
  return addresses.status();
}

std::string JobHosts::listening() const {
  const std::set<std::string> seen(addresses_.begin(), addresses_.end());
  const std::string one = seen.empty() ? "127.0.0.1" : *seen.begin();
  if (seen.size() <= 1) return kv::tcp_address(one, "*");
  const bool old = std::all_of(seen.begin(), seen.end(), [](const std::string& address) { return address.find(':') == std::string::npos; });
  return kv::tcp_address(old ? "0.0.0.0" : "::", "*");
}

std::string JobHosts::seen_from(int rank, const std::string& address) const {
  if (here()) return address;
  const auto listening = kv::parse_host_port(address);
  return kv::tcp_address(addresses_[static_cast<size_t>(rank)], std::to_string(listening.ok() ? listening->port : 0));
}

}  // namespace mxc::driver
