// See reach_probe.h.
#include "runtime/kv/reach_probe.h"

#include <utility>

#include "runtime/kv/reach.h"

namespace mxc::kv {

ReachProbe::~ReachProbe() {
  stops_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) thread_.join();
}

void ReachProbe::begin(uint32_t server, const std::string& address, int tries, Duration each) {
  answer_ = {server, true};
  is_done_.store(false, std::memory_order_relaxed);
  const std::optional<std::string> place = host_and_port_of(address);
  thread_ = std::thread([this, place, tries, each] {
    const auto host = place.has_value() ? parse_host_port(*place) : absl::InvalidArgumentError("");
    for (int i = 0; host.ok() && i < tries && !stops_.load(std::memory_order_relaxed); ++i) {
      answer_.is_reached = first_that_answers({host->host}, host->port, each).ok();
      if (answer_.is_reached) break;
    }
    is_done_.store(true, std::memory_order_release);
    done_();
  });
}

std::optional<ReachProbe::Answer> ReachProbe::answer() {
  if (!thread_.joinable() || !is_done_.load(std::memory_order_acquire)) return std::nullopt;
  thread_.join();
  return answer_;
}

std::optional<std::string> host_and_port_of(const std::string& address) {
  constexpr std::string_view kTcp = "tcp://";
  if (!address.starts_with(kTcp)) return std::nullopt;
  return address.substr(kTcp.size(), address.find_first_of("#;") - kTcp.size());
}

}  // namespace mxc::kv
