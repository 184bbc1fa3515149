// A network within a process. Without faults it delivers everything at once. With faults, which a seed decides, messages are lost, come
// twice, late, and in another order, and endpoints die: what a protocol above it has to survive.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/kv/transport.h"

namespace mxc::kv {

// Chances are in thousandths, of each message.
struct Faults {
  uint64_t seed = 0;
  int drop = 0;
  int duplicate = 0;
  int delay = 0;  // comes behind up to `most_overtaking` later messages to the same endpoint, or after `longest`
  int most_overtaking = 8;
  Duration longest = std::chrono::milliseconds(20);
};

// Where endpoints meet. Lives until the last of them has gone. Threads: any.
class InProcessNetwork : public std::enable_shared_from_this<InProcessNetwork> {
 public:
  static std::shared_ptr<InProcessNetwork> create(const Faults& faults = {});

  std::unique_ptr<Transport> endpoint();
  // Faults from now on.
  void set_faults(const Faults& faults);
  // The endpoint that listens at this address is gone, as by kill -9: its connections end, and what is on its way to it is lost.
  void kill(const std::string& address);

 private:
  friend class InProcessTransport;
  struct Endpoint;
  struct Connection;

  uint64_t number();  // the next of the seed's
  bool happens(int chance);
  void deliver(Endpoint& to, Arrival arrival);
  void sever(Connection& connection);
  void end(Endpoint& endpoint);

  std::mutex mutex_;  // guards all that follows, and what endpoints hold
  Faults faults_;
  uint64_t state_ = 0;
  uint64_t next_peer_ = 1;
  int next_address_ = 1;
  std::map<std::string, Endpoint*> listening_;
};

}  // namespace mxc::kv
