// TcpConnection: messages over one TCP connection. What is large is sent from the memory that it lies in, and received where it is to be.
//
// A message on the wire: how many frames, the size of each (4 bytes each number, little-endian), and the frames. Whoever breaks that has ended the connection.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/kv/frame.h"
#include "runtime/kv/transport.h"

namespace mxc::kv {

// Threads: all from one at a time.
class TcpConnection {
 public:
  using Frames = std::vector<Frame>;

  // No frame above `largest` bytes is taken into memory.
  explicit TcpConnection(int64_t largest) : largest_(largest) {}
  ~TcpConnection();
  TcpConnection(const TcpConnection&) = delete;
  TcpConnection& operator=(const TcpConnection&) = delete;

  // A socket that does not block, and is this object's from here on.
  void attach(int socket) { socket_ = socket; }
  int socket() const { return socket_; }  // -1: none yet
  // Closes it. Requires: nothing has been sent or received.
  void detach();
  void allow(int64_t largest) { largest_ = largest; }

  // Queues a message. `owner`, if given, keeps the last frame.
  void send(std::span<const std::string_view> frames, const std::shared_ptr<const void>& owner);
  size_t queued() const { return queued_; }  // bytes
  // Sends what the socket takes. False: the connection has ended.
  bool flush();
  // Takes what has come; `take` gets each message that is whole, and says if the connection goes on. False: it has ended. `place`, if it is not null: see
  // Transport::receive_into.
  bool read(const std::function<bool(Frames)>& take, const Destination& place);
  // A message as it is on the wire.
  static std::string encoded(std::span<const std::string_view> frames);
  // Memory that `place` has named is not written to any more.
  void leave_destination();

 private:
  static constexpr size_t kMostFrames = 8;
  struct Outgoing {
    std::string head;       // all but what is sent from where it lies
    std::string_view tail;  // that
    std::shared_ptr<const void> owner;
  };

  bool take_bytes(const char* bytes, size_t count, const std::function<bool(Frames)>& take, const Destination& place);
  bool take_number(uint32_t number);
  bool begin_frames(const std::function<bool(Frames)>& take, const Destination& place);
  void end_frame();
  size_t missing() const { return into_ == nullptr ? 0 : size_ - filled_; }  // bytes of the frame that is being received

  int64_t largest_;
  int socket_ = -1;
  std::deque<Outgoing> out_;
  size_t sent_ = 0, queued_ = 0;  // bytes, of the first and of all

  std::array<char, 4> digits_{};   // of a number that is being received
  size_t digits_there_ = 0;
  uint32_t frames_expected_ = 0;   // 0: their number comes next
  std::vector<uint32_t> sizes_;
  Frames frames_;                  // that are there
  char* into_ = nullptr;           // the frame that is being received; null: none is
  size_t size_ = 0, filled_ = 0;
  std::shared_ptr<char[]> room_;   // its memory; null: it is somebody else's
};

}  // namespace mxc::kv
