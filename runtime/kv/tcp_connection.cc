// See tcp_connection.h.
#include "runtime/kv/tcp_connection.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

namespace mxc::kv {

namespace {

static_assert(std::endian::native == std::endian::little, "sizes are sent as they lie in memory");

constexpr size_t kKept = 4096;          // bytes from which on a frame is sent from where it lies, and may be received where it is to be
constexpr size_t kAhead = 4096;         // bytes that are read without knowing where they belong, and so are copied once more
constexpr size_t kMostParts = 32;       // of what is sent in one system call
constexpr size_t kMostAtOnce = 4 << 20; // bytes read before others have their turn

void append_number(std::string& bytes, size_t number) {
  const auto small = static_cast<uint32_t>(number);
  bytes.append(reinterpret_cast<const char*>(&small), sizeof small);
}

bool may_come_later() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

TcpConnection::~TcpConnection() { detach(); }

void TcpConnection::detach() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

std::string TcpConnection::encoded(std::span<const std::string_view> frames) {
  TcpConnection made(0);
  made.send(frames, nullptr);
  return std::move(made.out_.front().head);
}

void TcpConnection::send(std::span<const std::string_view> frames, const std::shared_ptr<const void>& owner) {
  Outgoing made;
  append_number(made.head, frames.size());
  for (std::string_view frame : frames) append_number(made.head, frame.size());
  if (owner != nullptr && !frames.empty() && frames.back().size() >= kKept) {
    made.tail = frames.back();
    made.owner = owner;
    frames = frames.first(frames.size() - 1);
  }
  for (std::string_view frame : frames) made.head += frame;
  queued_ += made.head.size() + made.tail.size();
  out_.push_back(std::move(made));
}

bool TcpConnection::flush() {
  while (socket_ >= 0 && !out_.empty()) {
    std::array<iovec, kMostParts> parts;
    size_t count = 0, skip = sent_;
    const auto add = [&](std::string_view bytes) {
      const size_t skipped = std::min(skip, bytes.size());
      skip -= skipped;
      bytes.remove_prefix(skipped);
      if (!bytes.empty()) parts[count++] = {const_cast<char*>(bytes.data()), bytes.size()};
    };
    for (auto message = out_.begin(); message != out_.end() && count + 2 <= kMostParts; ++message) add(message->head), add(message->tail);
    msghdr all{};
    all.msg_iov = parts.data();
    all.msg_iovlen = count;
    const ssize_t sent = ::sendmsg(socket_, &all, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) return may_come_later();
    queued_ -= static_cast<size_t>(sent);
    sent_ += static_cast<size_t>(sent);
    while (!out_.empty() && sent_ >= out_.front().head.size() + out_.front().tail.size()) {
      sent_ -= out_.front().head.size() + out_.front().tail.size();
      out_.pop_front();
    }
  }
  return true;
}

bool TcpConnection::read(const std::function<bool(Frames)>& take, const Destination& place) {
  std::array<char, kAhead> ahead;
  for (size_t all = 0; all < kMostAtOnce;) {
    const size_t expected = missing();
    iovec parts[] = {{expected > 0 ? into_ + filled_ : nullptr, expected}, {ahead.data(), ahead.size()}};
    const ssize_t count = ::readv(socket_, expected > 0 ? parts : parts + 1, expected > 0 ? 2 : 1);
    if (count <= 0) return count < 0 && may_come_later();
    const auto read = static_cast<size_t>(count), here = std::min(read, expected);
    filled_ += here;
    if (expected > 0 && missing() == 0) {
      end_frame();
      if (!begin_frames(take, place)) return false;
    }
    if (!take_bytes(ahead.data(), read - here, take, place)) return false;
    if (read < expected + ahead.size()) return true;
    all += read;
  }
  return true;
}

bool TcpConnection::take_bytes(const char* bytes, size_t count, const std::function<bool(Frames)>& take, const Destination& place) {
  while (count > 0) {
    const bool in_frame = into_ != nullptr;
    const size_t size = std::min(count, in_frame ? missing() : sizeof(uint32_t) - digits_there_);
    std::memcpy(in_frame ? into_ + filled_ : digits_.data() + digits_there_, bytes, size);
    bytes += size;
    count -= size;
    (in_frame ? filled_ : digits_there_) += size;
    if (in_frame && missing() == 0) {
      end_frame();
      if (!begin_frames(take, place)) return false;
    } else if (!in_frame && digits_there_ == sizeof(uint32_t)) {
      digits_there_ = 0;
      if (!take_number(std::bit_cast<uint32_t>(digits_))) return false;
      if (sizes_.size() == frames_expected_ && !begin_frames(take, place)) return false;
    }
  }
  return true;
}

// How many frames a message has, or the size of one.
bool TcpConnection::take_number(uint32_t number) {
  if (frames_expected_ == 0) {
    frames_expected_ = number;
    return number > 0 && number <= kMostFrames;
  }
  sizes_.push_back(number);
  return number <= largest_;
}

// Makes room for the next frame that is not empty; without one the message is whole.
bool TcpConnection::begin_frames(const std::function<bool(Frames)>& take, const Destination& place) {
  while (frames_.size() < sizes_.size() && sizes_[frames_.size()] == 0) frames_.push_back("");
  if (frames_.size() == sizes_.size()) {
    frames_expected_ = 0;
    sizes_.clear();
    return take(std::exchange(frames_, {}));
  }
  size_ = sizes_[frames_.size()];
  filled_ = 0;
  into_ = place && size_ >= kKept && frames_.size() + 1 == sizes_.size() ? place(frames_, size_) : nullptr;
  if (into_ != nullptr) return true;
  room_ = std::make_shared_for_overwrite<char[]>(size_);
  into_ = room_.get();
  return true;
}

void TcpConnection::end_frame() {
  frames_.emplace_back(std::string_view(std::exchange(into_, nullptr), size_), std::exchange(room_, nullptr));
}

void TcpConnection::leave_destination() {
  if (into_ == nullptr || room_ != nullptr) return;
  room_ = std::make_shared_for_overwrite<char[]>(size_);
  std::memcpy(room_.get(), into_, filled_);
  into_ = room_.get();
}

}  // namespace mxc::kv
