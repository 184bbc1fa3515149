// See tcp_address.h.
#include "runtime/kv/tcp_address.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "absl/strings/str_format.h"

namespace mxc::kv {

namespace {

constexpr std::string_view kScheme = "tcp://";
constexpr char kAnyPort[] = "*";

}  // namespace

uint16_t SocketAddress::port() const {
  return ntohs(storage.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port : reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
}

std::optional<SocketAddress> parse_tcp_address(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (!text.starts_with(kScheme) || colon < kScheme.size()) return std::nullopt;
  std::string host = text.substr(kScheme.size(), colon - kScheme.size());
  const std::string port = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints{}, *found = nullptr;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  if (port.empty() || ::getaddrinfo(host.c_str(), port == kAnyPort ? "0" : port.c_str(), &hints, &found) != 0) return std::nullopt;
  SocketAddress address;
  address.size = found->ai_addrlen;
  std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  ::freeaddrinfo(found);
  return address;
}

std::string without_token(const std::string& address) { return address.substr(0, address.find('#')); }

std::string token_of(const std::string& address) {
  const size_t mark = address.find('#');
  return mark == std::string::npos ? "" : address.substr(mark + 1);
}

std::string new_token() {
  std::random_device device;
  return absl::StrFormat("%08x%08x%08x%08x", device(), device(), device(), device());
}

bool are_equal(std::string_view one, std::string_view other) {
  unsigned char difference = one.size() == other.size() ? 0 : 1;
  for (size_t i = 0; i < std::min(one.size(), other.size()); ++i) difference |= static_cast<unsigned char>(one[i] ^ other[i]);
  return difference == 0;
}

int new_tcp_socket(int family) { return ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

void send_at_once(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace mxc::kv
