// MemoryConnection: messages between two processes of one machine, through rings that they share (shared_rings.h).
//
// Beside the rings is a socket (Unix, of an abstract name): through it the memory is handed over, a byte on it wakes the other side, and its end says that
// the other process has gone. Who cannot reach the name is on another machine, or in another network namespace; who is of another user is refused.
//
// A message in a ring: how many frames, the size of each (8 bytes each number), and the frames.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/kv/shared_rings.h"

namespace mxc::kv {

// A socket that takes connections under this name. Error: the name is taken; the system grants none.
absl::StatusOr<int> listen_for_memory(const std::string& name);

// Threads: all from one at a time.
class MemoryConnection {
 public:
  using Frames = std::vector<std::string>;

  // Error (unavailable): nobody listens under this name, on this machine.
  static absl::StatusOr<std::unique_ptr<MemoryConnection>> connect(const std::string& name, int64_t capacity);
  // The next that waits at a socket that takes connections; null: none, or of another user. Its rings come later.
  static std::unique_ptr<MemoryConnection> accept(int listening);
  ~MemoryConnection();
  MemoryConnection(const MemoryConnection&) = delete;
  MemoryConnection& operator=(const MemoryConnection&) = delete;

  // Can be read when there may be something to do, if this sleeps, and when the other side has gone.
  int descriptor() const { return socket_; }
  // Never waits: what has no room is kept.
  void send(std::span<const std::string_view> frames);
  // Moves what can be moved; messages that are whole, none of whose frames is larger than `largest`, are appended. Error: the other side breaks the rules.
  absl::Status move(int64_t largest, std::deque<Frames>& messages);
  // Takes what is on the socket. False: the other side has gone, or breaks the rules. What it has written before can still be moved.
  bool hear();
  bool is_sent() const { return left_.empty(); }

  // Before waiting. False: there is something to do already.
  bool sleep() { return rings_ == nullptr || rings_->sleep(!left_.empty()); }
  void wake_up() {
    if (rings_ != nullptr) rings_->wake_up();
  }

 private:
  explicit MemoryConnection(int socket) : socket_(socket) {}
  bool hand_over(int descriptor);
  bool take_over();
  void put(std::string_view bytes);
  void write_left();
  bool fill(char* into, size_t size);
  absl::StatusOr<bool> next(int64_t largest);
  void wake_other();

  const int socket_;
  std::unique_ptr<SharedRings> rings_;  // null: they have not come
  std::deque<std::string> left_;        // what has no room yet
  size_t left_at_ = 0;                  // in the first
  // The message that is being read.
  uint64_t count_ = 0;           // of frames
  std::vector<uint64_t> sizes_;  // of each; empty: their number is not known
  bool has_sizes_ = false;
  Frames frames_;
  size_t whole_ = 0, filled_ = 0;  // frames that are there; bytes of what is being read
};

}  // namespace mxc::kv
