// See reach.h.
#include "runtime/kv/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "runtime/io/printable.h"

namespace mxc::kv {

namespace {

constexpr Duration kAgain = std::chrono::milliseconds(200);
constexpr char kAnyPort[] = "9";  // of a packet that is never sent

struct Freed {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, Freed>;

// The code of getaddrinfo.
int look_up(const std::string& host, int family, Addresses& addresses, const std::string& port = kAnyPort) {
  addrinfo hints{};
  hints.ai_family = family;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* list = nullptr;
  const int code = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &list);
  addresses.reset(list);
  return code;
}

absl::StatusOr<std::string> numeric(const sockaddr* address, socklen_t size) {
  char text[NI_MAXHOST] = {};
  if (const int code = ::getnameinfo(address, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST); code != 0)
    return absl::InvalidArgumentError(absl::StrCat("no address: ", ::gai_strerror(code)));
  return std::string(text);
}

}  // namespace

absl::StatusOr<HostPort> parse_host_port(const std::string& text) {
  absl::string_view rest = text;
  absl::ConsumePrefix(&rest, "tcp://");
  const size_t colon = rest.rfind(':');
  HostPort parsed;
  int port = 0;
  if (colon != absl::string_view::npos && absl::SimpleAtoi(rest.substr(colon + 1), &port) && port >= 1 && port <= 65535) {
    absl::string_view host = rest.substr(0, colon);
    if (absl::StartsWith(host, "[") && absl::EndsWith(host, "]")) host = host.substr(1, host.size() - 2);
    parsed = {std::string(host), static_cast<uint16_t>(port)};
  }
  if (parsed.host.empty())
    return absl::InvalidArgumentError(absl::StrCat("'", io::printable(std::string(rest), io::kMostShown), "' is no HOST:PORT"));
  return parsed;
}

std::string tcp_address(const std::string& host, const std::string& port) {
  return absl::StrContains(host, ':') ? absl::StrCat("tcp://[", host, "]:", port) : absl::StrCat("tcp://", host, ":", port);
}

bool is_own_name(const std::string& host) { return host == "localhost" || host == "::1" || absl::StartsWith(host, "127."); }

absl::StatusOr<std::string> resolve(const std::string& host, Duration most) {
  const auto end = std::chrono::steady_clock::now() + most;
  while (true) {
    Addresses found;
    int code = look_up(host, AF_INET, found);
    if (code != 0) code = look_up(host, AF_UNSPEC, found);
    if (code == 0) return numeric(found->ai_addr, found->ai_addrlen);
    if (std::chrono::steady_clock::now() >= end)
      return absl::InvalidArgumentError(absl::StrCat("there is no machine ", io::printable(host, io::kMostShown), ": ", ::gai_strerror(code)));
    std::this_thread::sleep_for(kAgain);
  }
}

absl::StatusOr<std::string> local_address(const std::string& address) {
  Addresses found;
  if (const int code = look_up(address, AF_UNSPEC, found); code != 0)
    return absl::InvalidArgumentError(absl::StrCat(io::printable(address, io::kMostShown), ": ", ::gai_strerror(code)));
  const int socket = ::socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  const bool led = socket >= 0 && ::connect(socket, found->ai_addr, found->ai_addrlen) == 0 &&
                   ::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) == 0;
  const int why = errno;
  if (socket >= 0) ::close(socket);
  if (!led) return absl::InvalidArgumentError(absl::StrCat("no way leads to ", address, ": ", ::strerror(why)));
  return numeric(reinterpret_cast<const sockaddr*>(&own), size);
}

std::vector<std::string> own_addresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> freed(list, ::freeifaddrs);
  std::vector<std::string> of_four, of_six;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    const int family = one->ifa_addr == nullptr ? AF_UNSPEC : one->ifa_addr->sa_family;
    if ((family != AF_INET && family != AF_INET6) || (one->ifa_flags & IFF_UP) == 0 || (one->ifa_flags & IFF_LOOPBACK) != 0) continue;
    if (family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr)) continue;
    auto text = numeric(one->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    if (text.ok()) (family == AF_INET ? of_four : of_six).push_back(*std::move(text));
  }
  of_four.insert(of_four.end(), of_six.begin(), of_six.end());
  return of_four;
}

namespace {

bool answers(const std::string& address, uint16_t port, Duration most) {
  Addresses found;
  if (look_up(address, AF_UNSPEC, found, absl::StrCat(port)) != 0) return false;
  const int socket = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return false;
  pollfd writable{socket, POLLOUT, 0};
  int error = 0;
  socklen_t size = sizeof error;
  const bool connects = ::connect(socket, found->ai_addr, found->ai_addrlen) == 0 ||
                        (errno == EINPROGRESS && ::poll(&writable, 1, static_cast<int>(most / std::chrono::milliseconds(1))) == 1 &&
                         ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0);
  ::close(socket);
  return connects;
}

}  // namespace

absl::StatusOr<std::string> first_that_answers(const std::vector<std::string>& addresses, uint16_t port, Duration each) {
  const auto first = std::find_if(addresses.begin(), addresses.end(), [&](const std::string& address) { return answers(address, port, each); });
  if (first != addresses.end()) return *first;
  return absl::InvalidArgumentError(absl::StrCat("nothing answers at port ", port, " of ", absl::StrJoin(addresses, ", ")));
}

}  // namespace mxc::kv
