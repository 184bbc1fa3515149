// See mpi.h.
#include "runtime/kv/mpi.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace mxc::kv {

namespace {

constexpr char kScheme[] = "mpi:";
constexpr Duration kShortest = std::chrono::microseconds(10), kLongest = std::chrono::milliseconds(1);
constexpr size_t kMostEarly = 1024;  // messages for an endpoint that does not listen yet

// Numbers are not used again in a process's life: what is still on its way to an endpoint that has gone must not reach another.
std::atomic<uint32_t> next_endpoint{1};
std::atomic<uint64_t> next_connection{1};

// A message: this, `frames` sizes of 8 bytes, the frames.
struct Head {
  enum class Kind : uint32_t { data, end } kind = Kind::data;
  uint32_t to_listener = 0;   // 1: from the endpoint that connected
  uint32_t endpoint = 0;      // that listens
  uint32_t frames = 0;
  uint64_t connection = 0;    // its number in the process that connected
};

struct Address {
  int rank = 0;
  uint32_t endpoint = 0;
};

std::optional<Address> parse_address(absl::string_view text) {
  Address address;
  if (!absl::ConsumePrefix(&text, kScheme)) return std::nullopt;
  const size_t slash = text.find('/');
  if (slash == absl::string_view::npos || !absl::SimpleAtoi(text.substr(0, slash), &address.rank) ||
      !absl::SimpleAtoi(text.substr(slash + 1), &address.endpoint))
    return std::nullopt;
  return address;
}

std::string written(const Head& head, std::span<const std::string_view> frames) {
  size_t bytes = sizeof head + 8 * frames.size();
  for (std::string_view frame : frames) bytes += frame.size();
  std::string text;
  text.reserve(bytes);
  text.append(reinterpret_cast<const char*>(&head), sizeof head);
  for (std::string_view frame : frames) {
    const uint64_t size = frame.size();
    text.append(reinterpret_cast<const char*>(&size), sizeof size);
  }
  for (std::string_view frame : frames) text.append(frame);
  return text;
}

// The frames of a message, if they fill it and none is larger than `largest`.
std::optional<std::vector<Frame>> frames_of(const Head& head, std::string_view bytes, int64_t largest) {
  std::vector<Frame> frames;
  if (head.frames > bytes.size() / 8) return std::nullopt;
  std::string_view sizes = bytes.substr(0, 8 * size_t{head.frames}), rest = bytes.substr(sizes.size());
  for (; !sizes.empty(); sizes.remove_prefix(8)) {
    uint64_t size;
    std::memcpy(&size, sizes.data(), sizeof size);
    if (size > rest.size() || size > static_cast<uint64_t>(largest)) return std::nullopt;
    frames.emplace_back(std::string(rest.substr(0, size)));
    rest.remove_prefix(size);
  }
  if (!rest.empty()) return std::nullopt;
  return frames;
}

}  // namespace

class MpiEndpoint;

class MpiProcess {
 public:
  explicit MpiProcess(const mxc_mpi* plugin) : mpi_(plugin) {}
  ~MpiProcess() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    work_.notify_all();
    if (mover_.joinable()) mover_.join();
  }

  int size() {
    std::lock_guard lock(mutex_);
    return size_;
  }

  // MPI is entered by the thread that will move messages.
  absl::Status start() {
    std::unique_lock lock(mutex_);
    mover_ = std::thread([this] { move(); });
    changed_.wait(lock, [&] { return size_ > 0 || !failure_.ok(); });
    return failure_;
  }

 private:
  friend class MpiEndpoint;
  struct Sending {
    int rank = 0;
    std::string bytes;
    MpiEndpoint* of = nullptr;  // whose close waits for it; null: nobody's
    void* handle = nullptr;
  };

  void move();
  bool send_some();
  bool receive_some(std::unique_lock<std::mutex>& lock);
  void deliver(int from, std::string_view bytes);
  void fail(const char* why);
  void queue(int rank, std::string bytes, MpiEndpoint* of) {
    sending_.push_back({rank, std::move(bytes), of, nullptr});
    work_.notify_all();
  }

  const mxc_mpi* mpi_;
  std::mutex mutex_;  // guards what follows, and what endpoints have
  std::condition_variable work_, changed_;
  int rank_ = 0, size_ = 0;
  absl::Status failure_;
  bool stopping_ = false;
  std::list<Sending> sending_;  // in the order in which they are sent; those with a handle have been begun
  std::map<uint32_t, MpiEndpoint*> listening_;
  std::set<uint32_t> closed_;   // numbers that have listened, and do not any more
  std::map<uint32_t, std::vector<std::pair<int, std::string>>> early_;
  std::map<uint64_t, MpiEndpoint*> connected_;  // by connection
  const uint32_t first_endpoint_ = next_endpoint;  // those before it have closed
  std::thread mover_;
};

class MpiEndpoint : public Transport {
 public:
  MpiEndpoint(std::shared_ptr<MpiProcess> process, int64_t largest) : process_(std::move(process)), largest_(largest) {}
  ~MpiEndpoint() override { close(std::chrono::seconds(1)); }

  absl::StatusOr<std::string> listen(const std::string& text) override {
    std::lock_guard lock(process_->mutex_);
    if (number_ != 0) return absl::FailedPreconditionError("the endpoint listens already");
    Address address = {process_->rank_, next_endpoint.load()};
    if (text != kScheme) {
      const auto asked = parse_address(text);
      if (!asked || asked->endpoint == 0) return absl::InvalidArgumentError(absl::StrCat("'", text, "' is no address of MPI's: mpi:, or mpi:RANK/NUMBER"));
      address = *asked;
    }
    if (address.rank != process_->rank_ || process_->listening_.contains(address.endpoint)) {
      return absl::UnavailableError(absl::StrCat("cannot listen at ", text, ": ", address.rank != process_->rank_ ? "this is another rank" : "the number is taken"));
    }
    number_ = address.endpoint;
    next_endpoint = std::max(next_endpoint.load(), number_ + 1);
    process_->listening_[number_] = this;
    process_->closed_.erase(number_);
    for (auto& [from, bytes] : std::exchange(process_->early_[number_], {})) process_->deliver(from, bytes);
    process_->early_.erase(number_);
    return absl::StrCat(kScheme, address.rank, "/", number_);
  }

  absl::StatusOr<Peer> connect(const std::string& text) override {
    std::lock_guard lock(process_->mutex_);
    const auto address = parse_address(text);
    if (!address || address->rank < 0 || address->rank >= process_->size_)
      return absl::InvalidArgumentError(absl::StrCat("'", text, "' is no address of MPI's job of ", process_->size_));
    const Peer peer = next_peer_++;
    const uint64_t connection = next_connection++;
    peers_[peer] = {address->rank, address->endpoint, connection, true};
    process_->connected_[connection] = this;
    own_[connection] = peer;
    return peer;
  }

  absl::Status send(Peer peer, std::span<const std::string_view> frames, const std::shared_ptr<const void>&) override {
    std::lock_guard lock(process_->mutex_);
    auto found = peers_.find(peer);
    if (found == peers_.end()) return absl::UnavailableError("the connection has ended");
    if (!process_->failure_.ok()) return process_->failure_;
    const Remote& remote = found->second;
    process_->queue(remote.rank, written(head_of(remote, Head::Kind::data, frames.size()), frames), this);
    return absl::OkStatus();
  }

  absl::StatusOr<Arrival> receive(Duration most) override {
    std::unique_lock lock(process_->mutex_);
    something_.wait_for(lock, most, [&] { return !arrivals_.empty() || woken_ || !process_->failure_.ok(); });
    if (!arrivals_.empty()) {
      Arrival arrival = std::move(arrivals_.front());
      arrivals_.pop_front();
      return arrival;
    }
    if (std::exchange(woken_, false)) return Arrival{Arrival::Kind::woken, 0, {}};
    if (!process_->failure_.ok()) return process_->failure_;
    return Arrival{};
  }

  void wake() override {
    std::lock_guard lock(process_->mutex_);
    woken_ = true;
    something_.notify_all();
  }

  void drop(Peer peer) override {
    std::lock_guard lock(process_->mutex_);
    auto found = peers_.find(peer);
    if (found == peers_.end()) return;
    say_end(found->second);
    forget(peer);
    std::erase_if(arrivals_, [&](const Arrival& arrival) { return arrival.peer == peer; });
  }

  void close(Duration most) override {
    std::unique_lock lock(process_->mutex_);
    if (std::exchange(closed_, true)) return;
    while (!peers_.empty()) {
      say_end(peers_.begin()->second);
      forget(peers_.begin()->first);
    }
    if (number_ != 0) {
      process_->listening_.erase(number_);
      process_->closed_.insert(number_);
    }
    process_->changed_.wait_for(lock, most, [&] { return !process_->failure_.ok() || !is_sending(); });
    for (auto& sending : process_->sending_)
      if (sending.of == this) sending.of = nullptr;
  }

 private:
  friend class MpiProcess;
  struct Remote {
    int rank = 0;
    uint32_t endpoint = 0;
    uint64_t connection = 0;
    bool connected = false;  // by this endpoint
  };

  static Head head_of(const Remote& remote, Head::Kind kind, size_t frames) {
    return {kind, remote.connected ? 1u : 0u, remote.endpoint, static_cast<uint32_t>(frames), remote.connection};
  }
  void say_end(const Remote& remote) { process_->queue(remote.rank, written(head_of(remote, Head::Kind::end, 0), {}), this); }
  bool is_sending() const {
    return std::any_of(process_->sending_.begin(), process_->sending_.end(), [&](const auto& sending) { return sending.of == this; });
  }

  void forget(Peer peer) {
    const Remote remote = peers_.at(peer);
    peers_.erase(peer);
    if (remote.connected) {
      process_->connected_.erase(remote.connection);
      own_.erase(remote.connection);
    } else {
      accepted_.erase({remote.rank, remote.connection});
    }
  }

  void arrive(Arrival arrival) {
    arrivals_.push_back(std::move(arrival));
    something_.notify_all();
  }

  // What came on a connection that others have made, or on one of its own.
  void take(int from, const Head& head, std::string_view rest) {
    Peer peer = 0;
    if (head.to_listener == 0) {
      peer = own_.at(head.connection);
    } else if (auto known = accepted_.find({from, head.connection}); known != accepted_.end()) {
      peer = known->second;
    } else {
      if (head.kind == Head::Kind::end) return;
      peer = next_peer_++;
      accepted_[{from, head.connection}] = peer;
      peers_[peer] = {from, number_, head.connection, false};
    }
    auto frames = frames_of(head, rest, largest_);
    if (head.kind == Head::Kind::data && frames) return arrive({Arrival::Kind::message, peer, *std::move(frames)});
    if (head.kind == Head::Kind::data) say_end(peers_.at(peer));
    if (head.to_listener != 0) forget(peer);  // one of its own is used again
    arrive({Arrival::Kind::lost, peer, {}});
  }

  const std::shared_ptr<MpiProcess> process_;
  const int64_t largest_;
  // What follows is guarded by the process's mutex.
  std::condition_variable something_;
  uint32_t number_ = 0;  // where it listens; 0: nowhere
  bool closed_ = false, woken_ = false;
  Peer next_peer_ = 1;
  std::map<Peer, Remote> peers_;
  std::map<uint64_t, Peer> own_;                       // by connection
  std::map<std::pair<int, uint64_t>, Peer> accepted_;  // by rank and connection
  std::deque<Arrival> arrivals_;
};

void MpiProcess::fail(const char* why) {
  failure_ = absl::AbortedError(absl::StrCat("MPI: ", why));
  changed_.notify_all();
  for (auto& [number, endpoint] : listening_) endpoint->something_.notify_all();
  for (auto& [connection, endpoint] : connected_) endpoint->something_.notify_all();
}

// The life of the thread that moves messages.
void MpiProcess::move() {
  std::unique_lock lock(mutex_);
  int rank = 0, size = 0;
  if (const char* wrong = mpi_->start(&rank, &size)) return fail(wrong);
  rank_ = rank;
  size_ = size;
  changed_.notify_all();
  Duration pause = kShortest;
  while (failure_.ok() && !(stopping_ && sending_.empty())) {
    const bool sent = send_some(), received = receive_some(lock);
    pause = sent || received ? kShortest : std::min(2 * pause, kLongest);
    if (failure_.ok() && !received) work_.wait_for(lock, pause);
  }
}

bool MpiProcess::send_some() {
  bool did = false;
  for (auto sending = sending_.begin(); sending != sending_.end();) {
    int done = 0;
    const char* wrong = nullptr;
    if (sending->handle == nullptr) {
      wrong = mpi_->send(sending->rank, sending->bytes.data(), sending->bytes.size(), &sending->handle);
      did = true;
    }
    if (wrong == nullptr) wrong = mpi_->sent(sending->handle, &done);
    if (wrong != nullptr) return fail(wrong), true;
    if (!done) {
      ++sending;
      continue;
    }
    did = true;
    const bool waited_for = sending->of != nullptr;
    sending = sending_.erase(sending);
    if (waited_for) changed_.notify_all();
  }
  return did;
}

bool MpiProcess::receive_some(std::unique_lock<std::mutex>& lock) {
  int from = 0;
  int64_t size = -1;
  if (const char* wrong = mpi_->arrived(&from, &size)) return fail(wrong), true;
  if (size < 0) return false;
  std::string bytes(static_cast<size_t>(size), '\0');
  lock.unlock();  // copying takes its time
  const char* wrong = mpi_->take(bytes.data());
  lock.lock();
  if (wrong != nullptr) return fail(wrong), true;
  deliver(from, bytes);
  return true;
}

void MpiProcess::deliver(int from, std::string_view bytes) {
  Head head;
  if (bytes.size() < sizeof head) return;
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.to_listener == 0) {
    if (auto found = connected_.find(head.connection); found != connected_.end()) found->second->take(from, head, bytes.substr(sizeof head));
    return;
  }
  if (auto found = listening_.find(head.endpoint); found != listening_.end()) return found->second->take(from, head, bytes.substr(sizeof head));
  if (head.kind == Head::Kind::end) return;
  if (head.endpoint < first_endpoint_ || closed_.contains(head.endpoint)) {
    head = {Head::Kind::end, 0, head.endpoint, 0, head.connection};
    return queue(from, written(head, {}), nullptr);
  }
  auto& early = early_[head.endpoint];
  if (early.size() < kMostEarly) early.emplace_back(from, bytes);
}

absl::StatusOr<std::shared_ptr<MpiProcess>> join_mpi(const mxc_mpi* plugin, uint32_t size) {
  auto process = std::make_shared<MpiProcess>(plugin);
  if (absl::Status status = process->start(); !status.ok()) return status;
  if (absl::Status status = check_ranks(process->size(), size); !status.ok()) return status;
  return process;
}

std::unique_ptr<Transport> make_mpi_transport(std::shared_ptr<MpiProcess> process, int64_t largest_frame) {
  return std::make_unique<MpiEndpoint>(std::move(process), largest_frame);
}

}  // namespace mxc::kv
