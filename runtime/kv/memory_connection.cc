// See memory_connection.h.
#include "runtime/kv/memory_connection.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mxc::kv {

namespace {

constexpr char kGreeting[] = "mxc rings 1";  // comes with the descriptor of the memory
constexpr size_t kMostFrames = 8;            // of a message
constexpr int kMostMessages = 64;            // moved at once, before others have their turn

// The abstract name, which is of a network namespace and goes with its socket.
bool set_name(const std::string& name, sockaddr_un& address, socklen_t& size) {
  address = {};
  address.sun_family = AF_UNIX;
  if (name.empty() || name.size() + 1 > sizeof address.sun_path) return false;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return true;
}

// A greeting with a descriptor. Stays where it is.
struct Handover {
  Handover() {
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
  }
  Handover(const Handover&) = delete;
  Handover& operator=(const Handover&) = delete;

  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  char greeting[sizeof kGreeting] = {};
  iovec bytes = {greeting, sizeof greeting};
  msghdr message = {};
};

int new_socket() { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

absl::Status broken(const char* what) { return absl::InvalidArgumentError(what); }

}  // namespace

absl::StatusOr<int> listen_for_memory(const std::string& name) {
  sockaddr_un address;
  socklen_t size;
  if (!set_name(name, address, size)) return absl::InvalidArgumentError("it is no name");
  const int socket = new_socket();
  if (socket >= 0 && ::bind(socket, reinterpret_cast<const sockaddr*>(&address), size) == 0 && ::listen(socket, SOMAXCONN) == 0) return socket;
  const int error = errno;
  if (socket >= 0) ::close(socket);
  return absl::UnavailableError(std::strerror(error));
}

MemoryConnection::~MemoryConnection() { ::close(socket_); }

absl::StatusOr<std::unique_ptr<MemoryConnection>> MemoryConnection::connect(const std::string& name, int64_t capacity) {
  sockaddr_un address;
  socklen_t size;
  const int socket = set_name(name, address, size) ? new_socket() : -1;
  if (socket < 0) return absl::UnavailableError("no socket");
  std::unique_ptr<MemoryConnection> connection(new MemoryConnection(socket));
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), size) != 0) return absl::UnavailableError("nobody of this machine listens there");
  int memory = -1;
  auto rings = SharedRings::make(capacity, memory);
  if (!rings.ok()) return rings.status();
  connection->rings_ = *std::move(rings);
  const bool handed = connection->hand_over(memory);
  ::close(memory);
  if (!handed) return absl::UnavailableError("the memory cannot be handed over");
  return connection;
}

std::unique_ptr<MemoryConnection> MemoryConnection::accept(int listening) {
  const int socket = ::accept4(listening, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (socket < 0) return nullptr;
  std::unique_ptr<MemoryConnection> connection(new MemoryConnection(socket));
  ucred other = {};
  socklen_t size = sizeof other;
  const bool known = ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &size) == 0;
  return known && other.uid == ::geteuid() ? std::move(connection) : nullptr;
}

bool MemoryConnection::hand_over(int descriptor) {
  Handover handover;
  std::memcpy(handover.greeting, kGreeting, sizeof kGreeting);
  cmsghdr* head = CMSG_FIRSTHDR(&handover.message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
  return ::sendmsg(socket_, &handover.message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof kGreeting);
}

// False: what has come is no memory. It may not have come yet.
bool MemoryConnection::take_over() {
  Handover handover;
  const ssize_t size = ::recvmsg(socket_, &handover.message, MSG_CMSG_CLOEXEC);
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  const cmsghdr* head = CMSG_FIRSTHDR(&handover.message);
  if (head == nullptr || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS || head->cmsg_len != CMSG_LEN(sizeof(int))) return false;
  int descriptor;
  std::memcpy(&descriptor, CMSG_DATA(head), sizeof descriptor);
  auto rings = SharedRings::adopt(descriptor);
  if (!rings.ok() || size != static_cast<ssize_t>(sizeof kGreeting) || std::memcmp(handover.greeting, kGreeting, sizeof kGreeting) != 0) return false;
  rings_ = *std::move(rings);
  return true;
}

bool MemoryConnection::hear() {
  if (rings_ == nullptr && !take_over()) return false;
  if (rings_ == nullptr) return true;
  char bytes[256];
  while (true) {
    const ssize_t size = ::recv(socket_, bytes, sizeof bytes, 0);
    if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)) return false;
    if (size < 0 && errno == EAGAIN) return true;
  }
}

// If the socket has no room, as many bytes are there already.
void MemoryConnection::wake_other() {
  const char byte = 0;
  [[maybe_unused]] const ssize_t sent = ::send(socket_, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void MemoryConnection::put(std::string_view bytes) {
  if (left_.empty()) bytes.remove_prefix(rings_->write(bytes));
  if (!bytes.empty()) left_.emplace_back(bytes);
}

void MemoryConnection::send(std::span<const std::string_view> frames) {
  std::vector<uint64_t> sizes = {frames.size()};
  for (std::string_view frame : frames) sizes.push_back(frame.size());
  if (rings_ == nullptr) return;  // nobody has been heard who could be answered
  put({reinterpret_cast<const char*>(sizes.data()), sizes.size() * sizeof(uint64_t)});
  for (std::string_view frame : frames) put(frame);
  if (rings_->wakes_reader()) wake_other();
}

void MemoryConnection::write_left() {
  while (!left_.empty()) {
    const std::string_view rest = std::string_view(left_.front()).substr(left_at_);
    const size_t written = rings_->write(rest);
    left_at_ += written;
    if (written < rest.size()) break;
    left_.pop_front();
    left_at_ = 0;
  }
  if (rings_->wakes_reader()) wake_other();
}

bool MemoryConnection::fill(char* into, size_t size) {
  filled_ += rings_->read({into + filled_, size - filled_});
  if (filled_ < size) return false;
  filled_ = 0;
  return true;
}

// True: a whole message is in `frames_`.
absl::StatusOr<bool> MemoryConnection::next(int64_t largest) {
  if (sizes_.empty()) {
    if (!fill(reinterpret_cast<char*>(&count_), sizeof count_)) return false;
    if (count_ == 0 || count_ > kMostFrames) return broken("a message of no frames, or of too many");
    sizes_.resize(count_);
    has_sizes_ = false;
  }
  if (!has_sizes_) {
    if (!fill(reinterpret_cast<char*>(sizes_.data()), sizes_.size() * sizeof(uint64_t))) return false;
    has_sizes_ = true;
    if (std::any_of(sizes_.begin(), sizes_.end(), [&](uint64_t size) { return size > static_cast<uint64_t>(largest); }))
      return broken("a frame that is too large");
  }
  for (; whole_ < sizes_.size(); ++whole_) {
    if (frames_.size() == whole_) frames_.emplace_back(sizes_[whole_], '\0');
    if (!fill(frames_.back().data(), sizes_[whole_])) return false;
  }
  sizes_.clear();
  whole_ = 0;
  return true;
}

absl::Status MemoryConnection::move(int64_t largest, std::deque<Frames>& messages) {
  if (rings_ == nullptr) return absl::OkStatus();
  if (!left_.empty()) write_left();
  for (int moved = 0; moved < kMostMessages; ++moved) {
    const absl::StatusOr<bool> whole = next(largest);
    if (!whole.ok()) return whole.status();
    if (!*whole) break;
    messages.push_back(std::exchange(frames_, {}));
  }
  if (rings_->wakes_writer()) wake_other();
  return rings_->is_broken() ? broken("its memory is not as it should be") : absl::OkStatus();
}

}  // namespace mxc::kv
