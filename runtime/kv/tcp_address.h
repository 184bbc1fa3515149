// Addresses of the transport over TCP: "tcp://HOST:PORT#TOKEN", where the host is numeric.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mxc::kv {

struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t size = sizeof storage;
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  uint16_t port() const;
};

// Of an address without a token, whose port may be 0 or *: any. Nothing: it is none.
std::optional<SocketAddress> parse_tcp_address(const std::string& text);

// For messages: tokens are secret.
std::string without_token(const std::string& address);
// Empty: it has none.
std::string token_of(const std::string& address);
std::string new_token();
// Takes a time that does not depend on where they differ.
bool are_equal(std::string_view one, std::string_view other);

// That does not block; -1: the system grants none.
int new_tcp_socket(int family);
// What is sent does not wait for more.
void send_at_once(int socket);

}  // namespace mxc::kv
