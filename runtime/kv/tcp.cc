// See tcp.h.
#include "runtime/kv/tcp.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/kv/tcp_address.h"
#include "runtime/kv/tcp_connection.h"
#include "runtime/kv/zeromq.h"

namespace mxc::kv {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr char kGreeting[] = "mxc tcp 1";
constexpr int64_t kMostGreeting = 64;    // bytes of a frame of somebody who has not said the token yet
constexpr size_t kMostStrangers = 256;   // who have not
constexpr Duration kFirstPause = milliseconds(20), kMostPause = std::chrono::seconds(1);  // before a connection is made again
constexpr int kMostRefusals = 5;         // in a row: once is no answer, since who dies at that moment hangs up, too
constexpr int kMostEvents = 64;
constexpr size_t kEnough = 64 << 10;     // bytes that are worth a system call at once

class TcpTransport : public Transport {
 public:
  explicit TcpTransport(const TcpOptions& options) : options_(options) {}
  ~TcpTransport() override {
    close(Duration(0));
    for (int descriptor : {events_, wake_})
      if (descriptor >= 0) ::close(descriptor);
  }

  absl::Status start() {
    events_ = ::epoll_create1(EPOLL_CLOEXEC);
    wake_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    inbox_ = Inbox::make();
    if (events_ < 0 || wake_ < 0 || inbox_ == nullptr) return absl::ResourceExhaustedError("the system grants no descriptor");
    watch(wake_, kWake, EPOLLIN);
    watch(inbox_->descriptor(), kInbox, EPOLLIN);
    if (options_.also >= 0) watch(options_.also, kAlso, EPOLLIN);
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> listen(const std::string& text) override {
    if (listening_ >= 0) return absl::FailedPreconditionError("the endpoint listens already");
    const std::string place = without_token(text);
    std::optional<SocketAddress> address = parse_tcp_address(place);
    if (!address.has_value()) return absl::InvalidArgumentError(absl::StrCat("'", place, "' is no tcp://HOST:PORT with a numeric host"));
    if (!options_.secret && !is_loopback(place))
      return absl::PermissionDeniedError(absl::StrCat("refusing to listen at ", place, ", where other machines can connect, without keys"));
    const int socket = new_tcp_socket(address->storage.ss_family), on = 1;
    if (socket >= 0) ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (socket < 0 || ::bind(socket, address->get(), address->size) != 0 || ::listen(socket, SOMAXCONN) != 0 ||
        ::getsockname(socket, address->get(), &address->size) != 0) {
      absl::Status status = failed(absl::StrCat("cannot listen at ", place));
      if (socket >= 0) ::close(socket);
      return status;
    }
    listening_ = socket;
    watch(listening_, kListening, EPOLLIN);
    token_ = token_of(text).empty() ? new_token() : token_of(text);
    own_address_ = absl::StrCat(place.substr(0, place.rfind(':') + 1), address->port(), "#", token_);
    if (options_.inboxes != nullptr) options_.inboxes->add(own_address_, inbox_);
    return own_address_;
  }

  absl::StatusOr<Peer> connect(const std::string& address) override {
    if (!parse_tcp_address(without_token(address)).has_value())
      return absl::InvalidArgumentError(absl::StrCat("'", without_token(address), "' is no tcp://HOST:PORT with a numeric host"));
    const Peer peer = next_peer_++;
    links_[peer].address = address;
    std::shared_ptr<Inbox> near = options_.inboxes != nullptr ? options_.inboxes->find(address) : nullptr;
    near != nullptr ? begin_near(peer, std::move(near)) : begin(peer);
    return peer;
  }

  absl::Status send(Peer peer, std::span<const std::string_view> frames, const std::shared_ptr<const void>& owner) override {
    const auto found = links_.find(peer);
    if (found == links_.end()) return absl::UnavailableError("the connection has ended");
    Link& link = found->second;
    if (link.near != nullptr) {
      put(link, frames, owner);
      return absl::OkStatus();
    }
    if (link.far == nullptr) link.far = std::make_unique<TcpConnection>(options_.largest_frame);
    link.far->send(frames, owner);
    unsent_.insert(peer);
    if (link.far->queued() >= kEnough) flush(peer);
    return absl::OkStatus();
  }

  absl::StatusOr<Arrival> receive(Duration most) override {
    const Clock::time_point end = Clock::now() + most;
    for (bool first = true;; first = false) {
      flush();
      if (arrivals_.empty()) take_parcels();
      if (arrivals_.empty()) {
        const Clock::time_point now = Clock::now();
        if (!first && (now >= end || std::exchange(interrupted_, false))) return Arrival{};
        see_to_time(now);
        poll(now >= end || !inbox_->sleep() ? Duration(0) : std::min(end, next_time()) - now);
        if (!broken_.ok()) return std::exchange(broken_, absl::OkStatus());
      }
      if (arrivals_.empty()) continue;
      Arrival arrival = std::move(arrivals_.front());
      arrivals_.pop_front();
      return arrival;
    }
  }

  void wake() override {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);  // fails only if it is awake 2^64 times
  }

  void drop(Peer peer) override {
    std::erase_if(arrivals_, [&](const Arrival& arrival) { return arrival.peer == peer; });
    const auto found = links_.find(peer);
    if (found == links_.end()) return;
    part(found->second);
    forget(peer);
  }

  void close(Duration most) override {
    if (events_ < 0 || std::exchange(closed_, true)) return;
    const Clock::time_point end = Clock::now() + most;
    flush();
    while (has_unsent() && Clock::now() < end) {
      see_to_time(Clock::now());
      poll(milliseconds(10));
      flush();
    }
    for (auto& [peer, link] : links_) part(link);
    links_.clear();
    if (options_.inboxes != nullptr && !own_address_.empty()) options_.inboxes->remove(own_address_);
    inbox_->close();
    if (listening_ >= 0) ::close(std::exchange(listening_, -1));
  }

  void receive_into(Destination place) override { place_ = std::move(place); }
  void leave_destinations() override {
    for (auto& [peer, link] : links_)
      if (link.far != nullptr) link.far->leave_destination();
  }
  bool shares_memory(Peer peer) const override {
    const auto found = links_.find(peer);
    return found != links_.end() && found->second.near != nullptr;
  }

 private:
  // What events are about that are no peer's.
  static constexpr Peer kListening = UINT64_MAX, kWake = UINT64_MAX - 1, kInbox = UINT64_MAX - 2, kAlso = UINT64_MAX - 3;

  struct Link {
    std::string address;                   // of one that this side makes, and makes again; empty: the other side has made it
    std::shared_ptr<Inbox> near;           // within the process: the other end's; or null
    uint64_t number = 0;                   // of such a connection
    std::unique_ptr<TcpConnection> far;    // else
    bool is_connected = false;             // the socket is
    bool is_greeted = false;               // the other side has said what it has to, first of all
    bool waits_to_send = false;            // for the socket to take more
    Clock::time_point time = Clock::time_point::max();  // when it is made again, or has to be greeted
    Duration pause = kFirstPause;
    int refusals = 0;
  };

  static absl::Status failed(const std::string& what) { return absl::UnavailableError(absl::StrCat(what, ": ", ::strerror(errno))); }

  void watch(int descriptor, Peer peer, uint32_t for_what, int how = EPOLL_CTL_ADD) {
    epoll_event event = {};
    event.events = for_what;
    event.data.u64 = peer;
    ::epoll_ctl(events_, how, descriptor, &event);
  }

  // ---- Connections that this side makes
  void begin(Peer peer) {
    Link& link = links_.at(peer);
    link.time = Clock::time_point::max();
    if (link.far == nullptr) link.far = std::make_unique<TcpConnection>(options_.largest_frame);
    std::optional<SocketAddress> address = parse_tcp_address(without_token(link.address));
    const int socket = new_tcp_socket(address->storage.ss_family);
    if (socket < 0) return try_later(link);
    link.far->attach(socket);
    send_at_once(socket);
    if (::connect(socket, address->get(), address->size) == 0 || errno == EINPROGRESS) return watch(socket, peer, EPOLLIN | EPOLLOUT);
    link.far->detach();
    try_later(link);
  }

  void begin_near(Peer peer, std::shared_ptr<Inbox> near) {
    Link& link = links_.at(peer);
    link.near = std::move(near);
    link.number = options_.inboxes->fresh_link();
    by_number_[link.number] = peer;
    link.near->put({Parcel::Kind::begun, link.number, {}, inbox_});
  }

  static void try_later(Link& link) {
    link.time = Clock::now() + link.pause;
    link.pause = std::min(2 * link.pause, kMostPause);
  }

  // The socket is connected, or cannot be. What is sent waits until the other side has greeted.
  void finish_connecting(Peer peer) {
    Link& link = links_.at(peer);
    int error = 0;
    socklen_t size = sizeof error;
    const int socket = link.far->socket();
    const std::string token = token_of(link.address);
    if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0 || !greet(socket, {kGreeting, token})) {
      link.far->detach();
      return try_later(link);
    }
    link.is_connected = true;
    watch(socket, peer, EPOLLIN, EPOLL_CTL_MOD);
  }

  // A new connection takes so little at once.
  static bool greet(int socket, std::initializer_list<std::string_view> frames) {
    const std::string greeting = TcpConnection::encoded(std::span(frames.begin(), frames.size()));
    return ::send(socket, greeting.data(), greeting.size(), MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(greeting.size());
  }

  void end(Peer peer) {
    Link& link = links_.at(peer);
    const bool is_known = link.near != nullptr || link.is_greeted;
    if (is_known) arrivals_.push_back({Arrival::Kind::lost, peer, {}});
    if (link.address.empty()) return forget(peer);
    if (!is_known && ++link.refusals == kMostRefusals)
      broken_ = absl::InvalidArgumentError(absl::StrCat(without_token(link.address), " refuses this process, or is not of this job"));
    by_number_.erase(link.number);
    // What was on its way to somebody who has been heard is gone with that; what nobody has heard of still waits.
    if (is_known) link.far = nullptr;
    else link.far->detach();
    link.near = nullptr;
    link.is_connected = link.is_greeted = link.waits_to_send = false;
    try_later(link);
  }

  void forget(Peer peer) {
    const Link& link = links_.at(peer);
    by_number_.erase(link.number);
    strangers_ -= link.address.empty() && link.far != nullptr && !link.is_greeted ? 1 : 0;
    unsent_.erase(peer);
    links_.erase(peer);
  }

  // Tells the other side.
  static void part(Link& link) {
    if (link.near != nullptr) link.near->put({Parcel::Kind::ended, link.number});
    if (link.far != nullptr && link.is_connected) ::shutdown(link.far->socket(), SHUT_WR);
  }

  // ---- Within the process
  static void put(Link& link, std::span<const std::string_view> frames, const std::shared_ptr<const void>& owner) {
    Parcel parcel = {Parcel::Kind::message, link.number};
    for (size_t i = 0; i < frames.size(); ++i) {
      const bool is_kept = owner != nullptr && i + 1 == frames.size();
      parcel.frames.push_back(is_kept ? Frame(frames[i], owner) : Frame(std::string(frames[i])));
    }
    link.near->put(std::move(parcel));
  }

  void take_parcels() {
    for (Parcel& parcel : inbox_->take()) {
      if (parcel.kind == Parcel::Kind::begun) {
        Link& link = links_[next_peer_];
        link.near = std::move(parcel.from);
        link.number = parcel.link;
        by_number_[parcel.link] = next_peer_++;
        continue;
      }
      const auto peer = by_number_.find(parcel.link);
      if (peer == by_number_.end()) continue;
      if (parcel.kind == Parcel::Kind::ended) end(peer->second);
      else arrivals_.push_back({Arrival::Kind::message, peer->second, std::move(parcel.frames)});
    }
  }

  // ---- Sending
  void flush() {
    const std::set<Peer> unsent = std::exchange(unsent_, {});
    for (Peer peer : unsent) flush(peer);
  }

  void flush(Peer peer) {
    const auto found = links_.find(peer);
    if (found == links_.end() || !found->second.is_greeted) return;
    Link& link = found->second;
    if (!link.far->flush()) return end(peer);
    const bool waits = link.far->queued() > 0;
    if (waits != link.waits_to_send) watch(link.far->socket(), peer, EPOLLIN | (waits ? EPOLLOUT : 0), EPOLL_CTL_MOD);
    link.waits_to_send = waits;
  }

  bool has_unsent() const {
    return std::ranges::any_of(links_, [](const auto& link) { return link.second.far != nullptr && link.second.far->queued() > 0; });
  }

  // ---- Receiving
  void poll(Duration most) {
    epoll_event events[kMostEvents];
    const auto wait = std::chrono::ceil<milliseconds>(std::max(most, Duration(0))).count();
    const int count = ::epoll_wait(events_, events, kMostEvents, static_cast<int>(std::min<int64_t>(wait, INT32_MAX)));
    for (int i = 0; i < count; ++i) {
      const Peer peer = events[i].data.u64;
      if (peer == kWake) woken();
      else if (peer == kAlso) interrupted_ = true;
      else if (peer == kListening) accept();
      else if (peer != kInbox) see_to(peer, events[i].events);
    }
  }

  void woken() {
    uint64_t times;
    if (::read(wake_, &times, sizeof times) == sizeof times) arrivals_.push_back({Arrival::Kind::woken, 0, {}});
  }

  void accept() {
    for (int socket; (socket = ::accept4(listening_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
      if (strangers_ >= kMostStrangers) {
        const auto oldest = std::ranges::find_if(links_, [](const auto& link) { return link.second.address.empty() && link.second.far != nullptr && !link.second.is_greeted; });
        forget(oldest->first);
      }
      send_at_once(socket);
      Link& link = links_[next_peer_];
      link.far = std::make_unique<TcpConnection>(kMostGreeting);
      link.far->attach(socket);
      link.is_connected = true;
      link.time = Clock::now() + options_.patience;
      ++strangers_;
      watch(socket, next_peer_++, EPOLLIN);
    }
  }

  void see_to(Peer peer, uint32_t events) {
    const auto found = links_.find(peer);
    if (found == links_.end() || found->second.far == nullptr) return;
    Link& link = found->second;
    if (!link.is_connected) return finish_connecting(peer);
    const auto take = [&](TcpConnection::Frames frames) {
      if (!link.is_greeted) return is_greeting(peer, link, frames);
      arrivals_.push_back({Arrival::Kind::message, peer, std::move(frames)});
      return true;
    };
    if ((events & ~uint32_t{EPOLLOUT}) != 0 && !link.far->read(take, place_)) return end(peer);
    if ((events & EPOLLOUT) != 0) flush(peer);
  }

  // The first message of the other side.
  bool is_greeting(Peer peer, Link& link, const TcpConnection::Frames& frames) {
    if (frames.empty() || frames[0] != Frame(kGreeting)) return false;
    if (link.address.empty()) {
      if (frames.size() != 2 || !are_equal(frames[1], token_) || !greet(link.far->socket(), {kGreeting})) return false;
      --strangers_;
      link.far->allow(options_.largest_frame);
    }
    link.is_greeted = true;
    link.time = Clock::time_point::max();
    link.pause = kFirstPause;
    link.refusals = 0;
    unsent_.insert(peer);
    return true;
  }

  // ---- Time
  Clock::time_point next_time() const {
    Clock::time_point next = Clock::time_point::max();
    for (const auto& [peer, link] : links_) next = std::min(next, link.time);
    return next;
  }

  // Makes connections again, and hangs up on who has said nothing.
  void see_to_time(Clock::time_point now) {
    std::vector<Peer> due;
    for (const auto& [peer, link] : links_)
      if (link.time <= now) due.push_back(peer);
    for (Peer peer : due) links_.at(peer).address.empty() ? end(peer) : begin(peer);
  }

  const TcpOptions options_;
  int events_ = -1, wake_ = -1;
  int listening_ = -1;
  std::shared_ptr<Inbox> inbox_;
  std::string token_, own_address_;
  std::map<Peer, Link> links_;
  std::map<uint64_t, Peer> by_number_;  // of connections within the process
  size_t strangers_ = 0;                // accepted, and not greeted
  Peer next_peer_ = 1;
  std::set<Peer> unsent_;               // with something queued since they were flushed
  std::deque<Arrival> arrivals_;
  Destination place_;
  bool interrupted_ = false;            // by options_.also
  bool closed_ = false;
  absl::Status broken_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Transport>> make_tcp_transport(const TcpOptions& options) {
  auto transport = std::make_unique<TcpTransport>(options);
  if (absl::Status status = transport->start(); !status.ok()) return status;
  return transport;
}

}  // namespace mxc::kv
