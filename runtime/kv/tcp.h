// Transport over TCP, without encryption and without threads of its own: who sends makes the system call, from the memory that the arrays lie in, and large frames are
// received where they belong (Transport::receive_into). For networks that nobody else listens to, as MPI takes them.
//
// Who listens has an address with a random token, "tcp://10.0.0.7:41000#TOKEN", which members tell each other through the scheduler (encrypted, if the job has keys). Who
// connects says it first, and has nothing read before; whoever does not say it in time is hung up on. Connections within a process go from hand to hand (inbox.h).
#pragma once

#include <memory>

#include "runtime/kv/inbox.h"
#include "runtime/kv/transport.h"

namespace mxc::kv {

struct TcpOptions {
  bool secret = false;              // addresses are told to members alone: listen where other machines can connect
  int64_t largest_frame = 1 << 16;  // bytes, of what is received
  Duration patience = std::chrono::seconds(5);  // with whoever has connected and not said the token
  int also = -1;                    // `receive` returns early, with nothing, when this descriptor can be read
  // Of endpoints that reach each other within the process. Null: none do.
  std::shared_ptr<Inboxes> inboxes = nullptr;
};

// Error: the system grants no descriptor.
absl::StatusOr<std::unique_ptr<Transport>> make_tcp_transport(const TcpOptions& options);

}  // namespace mxc::kv
