// See memory_transport.h.
#include "runtime/kv/memory_transport.h"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/kv/memory_connection.h"

namespace mxc::kv {

namespace {

using Clock = std::chrono::steady_clock;

constexpr char kMark[] = ";memory=";
constexpr int kTurn = 8;               // arrivals through memory before the other transport has its turn
constexpr int kMostEvents = 64;
constexpr size_t kMostAccepted = 4096;  // connections of others
constexpr int64_t kMostOfAMachine = 512 << 20;

struct Address {
  std::string other, name;  // name: empty, none
};

Address parsed(const std::string& text) {
  const size_t mark = text.find(kMark);
  return mark == std::string::npos ? Address{text, ""} : Address{text.substr(0, mark), text.substr(mark + sizeof kMark - 1)};
}

std::string new_name() {
  std::random_device device;
  return absl::StrFormat("mxc-%08x%08x%08x%08x", device(), device(), device(), device());
}

class MemoryTransport : public Transport {
 public:
  explicit MemoryTransport(const MemoryTransportOptions& options) : options_(options) {}
  ~MemoryTransport() override {
    close(Duration(0));
    if (events_ >= 0) ::close(events_);
  }

  absl::Status start() {
    events_ = ::epoll_create1(EPOLL_CLOEXEC);
    if (events_ < 0) return absl::ResourceExhaustedError("the system grants no descriptor");
    auto other = options_.other(events_);
    if (other.ok()) other_ = *std::move(other);
    return other.status();
  }

  absl::StatusOr<std::string> listen(const std::string& text) override {
    Address address = parsed(text);
    if (options_.on && address.name.empty()) address.name = new_name();
    int socket = -1;
    if (options_.on && listening_ < 0) {
      const absl::StatusOr<int> made = listen_for_memory(address.name);
      if (!made.ok()) return absl::UnavailableError(absl::StrCat("cannot listen at ", text, ": ", made.status().message()));
      socket = *made;
    }
    absl::StatusOr<std::string> at = other_->listen(address.other);
    if (!at.ok() || socket < 0) {
      if (socket >= 0) ::close(socket);
      return at;
    }
    listening_ = socket;
    watch(listening_, kListening);
    return absl::StrCat(*at, kMark, address.name);
  }

  absl::StatusOr<Peer> connect(const std::string& text) override {
    const Address address = parsed(text);
    const bool within = options_.is_within && options_.is_within(address.other);
    auto connection = options_.on && !within && !address.name.empty() ? MemoryConnection::connect(address.name, options_.capacity)
                                                           : absl::StatusOr<std::unique_ptr<MemoryConnection>>(nullptr);
    if (connection.ok() && *connection != nullptr) return add(*std::move(connection), address.other);
    const absl::StatusOr<Peer> peer = other_->connect(address.other);
    if (!peer.ok()) return peer;
    if (within && options_.on) within_.insert(of_other(*peer));
    return of_other(*peer);
  }

  absl::Status send(Peer peer, std::span<const std::string_view> frames, const std::shared_ptr<const void>& owner) override {
    if (auto near = near_.find(peer); near != near_.end()) {
      near->second.connection->send(frames);
      return absl::OkStatus();
    }
    const std::optional<Peer> far = far_of(peer);
    return far.has_value() ? other_->send(*far, frames, owner) : absl::UnavailableError("the connection has ended");
  }

  absl::StatusOr<Arrival> receive(Duration most) override {
    const Clock::time_point end = Clock::now() + most;
    while (true) {
      if (arrivals_.empty()) move();
      if (!arrivals_.empty() && ++turn_ % kTurn != 0) return next();
      const bool idle = arrivals_.empty() && sleep();
      const Duration left = std::max(Duration(end - Clock::now()), Duration(0));
      absl::StatusOr<Arrival> arrival = other_->receive(idle ? left : Duration(0));
      wake_up();
      // The other transport says nothing when a socket has something to say; who has no connection through memory need not ask each time.
      if (!near_.empty() || !arrival.ok() || arrival->kind == Arrival::Kind::nothing) look();
      if (!arrival.ok()) return arrival;
      if (arrival->kind != Arrival::Kind::nothing) return translated(*std::move(arrival));
      if (!arrivals_.empty()) return next();
      if (idle && left == Duration(0)) return Arrival{};
    }
  }

  void wake() override { other_->wake(); }

  void drop(Peer peer) override {
    std::erase_if(arrivals_, [&](const Arrival& arrival) { return arrival.peer == peer; });
    if (near_.erase(peer) > 0) return;
    within_.erase(peer);
    if (const std::optional<Peer> far = far_of(peer)) other_->drop(*far);
    if (auto found = fallen_.find(peer); found != fallen_.end()) {
      before_.erase(found->second);
      fallen_.erase(found);
    }
  }

  void close(Duration most) override {
    if (other_ == nullptr || std::exchange(closed_, true)) return;
    const Clock::time_point end = Clock::now() + most;
    while (!is_sent() && Clock::now() < end) {
      pollfd wait = {events_, POLLIN, 0};
      if (sleep()) ::poll(&wait, 1, 10);
      wake_up();
      look();
      move();
    }
    near_.clear();
    if (listening_ >= 0) ::close(std::exchange(listening_, -1));
    other_->close(most);  // it stays: others may still wake it
  }

  void receive_into(Destination place) override { other_->receive_into(std::move(place)); }
  void leave_destinations() override { other_->leave_destinations(); }
  bool shares_memory(Peer peer) const override { return near_.contains(peer) || within_.contains(peer); }

 private:
  static constexpr Peer kListening = 0;
  struct Near {
    std::unique_ptr<MemoryConnection> connection;
    std::string other;  // where else its peer listens; empty: it has connected itself
  };

  // Numbers of peers: the other transport's are even here, those of connections through memory odd.
  static Peer of_other(Peer peer) { return 2 * peer; }
  std::optional<Peer> far_of(Peer peer) const {
    if (peer % 2 == 0) return peer / 2;
    const auto found = fallen_.find(peer);
    return found == fallen_.end() ? std::nullopt : std::optional(found->second);
  }

  void watch(int descriptor, Peer peer) {
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.u64 = peer;
    ::epoll_ctl(events_, EPOLL_CTL_ADD, descriptor, &event);
  }

  Peer add(std::unique_ptr<MemoryConnection> connection, const std::string& other) {
    const Peer peer = 2 * next_++ + 1;
    watch(connection->descriptor(), peer);
    near_[peer] = {std::move(connection), other};
    return peer;
  }

  Arrival next() {
    Arrival arrival = std::move(arrivals_.front());
    arrivals_.pop_front();
    return arrival;
  }

  Arrival translated(Arrival arrival) const {
    const auto found = before_.find(arrival.peer);
    if (arrival.kind == Arrival::Kind::message || arrival.kind == Arrival::Kind::lost)
      arrival.peer = found == before_.end() ? of_other(arrival.peer) : found->second;
    return arrival;
  }

  // Moves what is in memory.
  void move() {
    std::vector<Peer> ended;
    for (auto& [peer, near] : near_)
      if (!move(peer, *near.connection)) ended.push_back(peer);
    for (Peer peer : ended) end(peer);
  }

  // False: the connection has to end.
  bool move(Peer peer, MemoryConnection& connection) {
    std::deque<MemoryConnection::Frames> messages;
    const absl::Status status = connection.move(options_.largest_frame, messages);
    for (MemoryConnection::Frames& frames : messages) arrivals_.push_back({Arrival::Kind::message, peer, {std::move_iterator(frames.begin()), std::move_iterator(frames.end())}});
    return status.ok();
  }

  // What the sockets say: who connects, and who has gone.
  void look() {
    epoll_event events[kMostEvents];
    const int count = ::epoll_wait(events_, events, kMostEvents, 0);
    for (int i = 0; i < count; ++i) {
      const Peer peer = events[i].data.u64;
      if (peer == kListening) {
        auto connection = MemoryConnection::accept(listening_);
        if (connection != nullptr && near_.size() < kMostAccepted) add(std::move(connection), "");
        continue;
      }
      auto near = near_.find(peer);
      if (near == near_.end() || near->second.connection->hear()) continue;
      // What it has said before comes first.
      for (size_t before = arrivals_.size(); move(peer, *near->second.connection) && before != arrivals_.size();) before = arrivals_.size();
      end(peer);
    }
  }

  // One that this side has made is made again, through the other transport.
  void end(Peer peer) {
    const auto found = near_.find(peer);
    const std::string other = found->second.other;
    near_.erase(found);
    arrivals_.push_back({Arrival::Kind::lost, peer, {}});
    if (other.empty()) return;
    const absl::StatusOr<Peer> far = other_->connect(other);
    if (!far.ok()) return;
    fallen_[peer] = *far;
    before_[*far] = peer;
  }

  bool sleep() {
    bool idle = true;
    for (auto& [peer, near] : near_) idle &= near.connection->sleep();
    return idle;
  }
  void wake_up() {
    for (auto& [peer, near] : near_) near.connection->wake_up();
  }
  bool is_sent() const {
    return std::all_of(near_.begin(), near_.end(), [](const auto& near) { return near.second.connection->is_sent(); });
  }

  const MemoryTransportOptions options_;
  std::unique_ptr<Transport> other_;
  int events_ = -1;     // of all sockets
  int listening_ = -1;
  bool closed_ = false;
  uint64_t next_ = 0;
  uint32_t turn_ = 0;
  std::map<Peer, Near> near_;
  std::set<Peer> within_;               // of the other transport, in this process
  std::map<Peer, Peer> fallen_, before_;  // peers that are reached through the other transport now, and back
  std::deque<Arrival> arrivals_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Transport>> make_memory_transport(const MemoryTransportOptions& options) {
  auto transport = std::make_unique<MemoryTransport>(options);
  if (absl::Status status = transport->start(); !status.ok()) return status;
  return transport;
}

int64_t memory_capacity(int64_t processes) {
  const int64_t connections = processes * processes;
  return std::clamp<int64_t>(static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(kMostOfAMachine / 2 / connections))), 64 << 10, 2 << 20);
}

}  // namespace mxc::kv
