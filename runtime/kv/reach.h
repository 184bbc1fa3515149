// Reach: names of machines as addresses, and by which address of its own this machine is seen from there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kv/transport.h"

namespace mxc::kv {

struct HostPort {
  std::string host;
  uint16_t port = 0;
};

// Of "HOST:PORT", with or without "tcp://" before it; an IPv6 address stands in brackets. Error: it is none.
absl::StatusOr<HostPort> parse_host_port(const std::string& text);
// "tcp://HOST:PORT", with brackets where needed. `port` may be "*", any that is free.
std::string tcp_address(const std::string& host, const std::string& port);

// Is it a name or an address of this machine that no other machine takes for this one: localhost, 127.0.0.1, ::1?
bool is_own_name(const std::string& host);

// The numeric address of a host, of the fourth version of IP if it has one. Tries for so long: names may come with the machines. Error: there is none.
absl::StatusOr<std::string> resolve(const std::string& host, Duration most);

// The address of this machine that packets to `address` (numeric) bear. Nothing is sent. Error: no way leads there.
absl::StatusOr<std::string> local_address(const std::string& address);

// The addresses by which other machines may reach this one, those of the fourth version of IP first: of interfaces that are up, but not of this machine or its
// links alone.
std::vector<std::string> own_addresses();

// The first of some numeric addresses where something listens at `port`. Tries each for so long. Error: none.
absl::StatusOr<std::string> first_that_answers(const std::vector<std::string>& addresses, uint16_t port, Duration each);

}  // namespace mxc::kv
