// Transport: the one seam between the KVStore and a network. It carries frames between two endpoints, whole and, on one connection, in
// order; it may lose what was on its way when a connection ends. Who says what, who is dead and what is said again is decided above it.
//
// Implementations: `in_process.h` within a process, with faults that a seed decides; `zeromq.h` over TCP, encrypted; `tcp.h`, not encrypted; `memory_transport.h` through
// shared memory where both are on one machine; `mpi.h`.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/kv/frame.h"

namespace mxc::kv {

using Duration = std::chrono::nanoseconds;

// A connection, as one endpoint knows it. Numbers are not used again.
using Peer = uint64_t;

struct Arrival {
  enum class Kind : uint8_t {
    message,
    lost,     // the connection has ended, or was ended by the other side. One that `connect` made is tried again until `drop`
    woken,    // `wake` was called
    nothing,  // time has passed
  };
  Kind kind = Kind::nothing;
  Peer peer = 0;
  std::vector<Frame> frames;
};

// Where the last frame of a message, of so many bytes, is to be received, by the frames before it. Null: anywhere.
using Destination = std::function<char*(std::span<const Frame> before, size_t size)>;

// An endpoint. Threads: all from one at a time, but for `wake`.
class Transport {
 public:
  virtual ~Transport() = default;

  // Takes connections at this address, once in an endpoint's life. Returns where it can be reached: "tcp://127.0.0.1:0" becomes the port
  // that was free.
  virtual absl::StatusOr<std::string> listen(const std::string& address) = 0;
  // A connection to a listening endpoint, which may come to listen later.
  virtual absl::StatusOr<Peer> connect(const std::string& address) = 0;
  // Queues a message; never waits. It is on its way at the latest while this endpoint receives or closes. Error: the connection has ended; a `lost` of it comes, or came.
  // `owner`, if given, keeps the last frame: its memory may be sent from, instead of a copy, until it is released.
  virtual absl::Status send(Peer peer, std::span<const std::string_view> frames, const std::shared_ptr<const void>& owner = nullptr) = 0;
  // The next arrival, waiting up to `most`. Error: the endpoint cannot go on.
  virtual absl::StatusOr<Arrival> receive(Duration most) = 0;
  // Lets `receive`, now or the next, return `woken`. From any thread.
  virtual void wake() = 0;
  // Ends a connection: nothing more comes of it.
  virtual void drop(Peer peer) = 0;
  // Waits up to `most` for what is queued to leave, and ends all connections. Nothing may be called after it.
  virtual void close(Duration most) = 0;
  // Lets large frames be received right where they are to be, if this transport can. Such a frame has no owner; its memory is written to until the message has come or
  // `leave_destinations` is called. What is there may be a part of a message that never comes whole.
  virtual void receive_into(Destination) {}
  virtual void leave_destinations() {}
  // Does what is sent there now stay in the memory of this machine?
  virtual bool shares_memory(Peer) const { return false; }
};

}  // namespace mxc::kv
