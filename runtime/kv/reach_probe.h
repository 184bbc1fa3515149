// ReachProbe: can a server's machine still be reached? A connection of its own is tried, beside those that carry messages: TCP gives those up after a quarter of an hour,
// and silence alone may be a slow link or a long update. The machine's kernel answers, whatever its processes do.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "runtime/kv/transport.h"

namespace mxc::kv {

// Threads: one at a time.
class ReachProbe {
 public:
  // `done` is called when there is an answer, from a thread of this object's.
  explicit ReachProbe(std::function<void()> done) : done_(std::move(done)) {}
  // Waits for the try that is going on: `each` at most.
  ~ReachProbe();

  // Begins to try this server, so many times for so long. Requires: no other is being tried.
  void begin(uint32_t server, const std::string& address, int tries = 2, Duration each = std::chrono::seconds(2));
  bool is_busy() const { return thread_.joinable(); }
  struct Answer {
    uint32_t server = 0;
    bool is_reached = true;
  };
  // Once for each server that was tried. Nothing: there is none yet.
  std::optional<Answer> answer();

 private:
  const std::function<void()> done_;
  std::thread thread_;
  Answer answer_;                    // the thread's, until it is done
  std::atomic<bool> is_done_ = false;  // release and acquire: what it found
  std::atomic<bool> stops_ = false;    // relaxed: it may try once more
};

// "10.0.0.7:4711" of an address of a transport over TCP, whatever follows there. Nothing: it is another's.
std::optional<std::string> host_and_port_of(const std::string& address);

}  // namespace mxc::kv
