// Transport over TCP: ZeroMQ, with CURVE if the job has keys.
//
// An endpoint has one ROUTER, if it listens, and a DEALER for each connection that it makes. Whoever connects to one that listens must have
// made the connection with the job's own key: that is asked of its authentication (ZAP), since CURVE alone lets in everybody who knows the
// server's public key. No frame above the limit is taken into memory.
#pragma once

#include <memory>

#include "runtime/kv/keys.h"
#include "runtime/kv/transport.h"
#include "runtime/kv/zeromq_context.h"

namespace mxc::kv {

struct ZeroMqOptions {
  JobKeys keys = {};                // empty: nothing is encrypted, and anybody may connect
  bool insecure = false;            // without keys, listen where other machines can connect all the same
  int64_t largest_frame = 1 << 16;  // bytes, of what is received
  int also = -1;                    // `receive` returns early, with nothing, when this descriptor can be read
  // Of endpoints that have the same keys: a connection from one to another goes through memory. Null: one of its own.
  std::shared_ptr<ZeroMqContext> context = nullptr;
};

// Error: libzmq is not on this machine.
absl::StatusOr<std::unique_ptr<Transport>> make_zeromq_transport(const ZeroMqOptions& options);

// Is it an address that only this machine can connect to? "tcp://127.0.0.1:5000", "tcp://[::1]:*", "ipc://PATH".
bool is_loopback(const std::string& address);

}  // namespace mxc::kv
