// Transport through shared memory where both ends are on one machine (memory_connection.h), and through another transport, ZeroMQ, where they are not.
//
// Who listens has an address of both: "tcp://10.0.0.7:41000;memory=NAME". Who connects tries the name, and if nobody is reached by it, the rest of the address. A
// connection through memory that has ended is made again through the other.
#pragma once

#include <functional>
#include <memory>

#include "runtime/kv/transport.h"

namespace mxc::kv {

struct MemoryTransportOptions {
  bool on = true;                   // false: all goes through the other transport
  int64_t largest_frame = 1 << 16;  // bytes, of what is received
  int64_t capacity = 2 << 20;       // bytes of a connection's way in each direction: a power of two, 4096 at least
  // Makes the other transport, whose `receive` returns early, with nothing, when this descriptor can be read.
  std::function<absl::StatusOr<std::unique_ptr<Transport>>(int descriptor)> other;
  // Does the other transport reach this address of its own within the process? Then the connection is left to it. Null: none.
  std::function<bool(const std::string& address)> is_within = nullptr;
};

absl::StatusOr<std::unique_ptr<Transport>> make_memory_transport(const MemoryTransportOptions& options);

// So much that all connections of a machine with so many processes of a job, each to each, take 512 MiB at most, and 64 KiB at least.
int64_t memory_capacity(int64_t processes);

}  // namespace mxc::kv
