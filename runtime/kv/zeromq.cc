// See zeromq.h.
#include "runtime/kv/zeromq.h"

#include <malloc.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/kv/zeromq_library.h"

namespace mxc::kv {

namespace {

constexpr int kHandshakeMilliseconds = 10'000;
constexpr int kReconnectMilliseconds = 20, kMostReconnectMilliseconds = 1000;
constexpr int kBatch = 64;               // messages taken of a socket before others have their turn
constexpr size_t kMostFrames = 8;        // of a message; what has more is not ours
constexpr size_t kMostStrangers = 4096;  // connections remembered
// libzmq asks for memory for each message; blocks of this size and more would be mapped and unmapped each time, and so much free memory at the end be given back.
constexpr int kMapThreshold = 16 << 20, kTrimThreshold = 64 << 20;
constexpr int64_t kSealing = 64;  // what CURVE adds to a frame at most
constexpr int kMostRefusals = 5;
constexpr int kEvents = ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                        ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
constexpr char kZapAddress[] = "inproc://zeromq.zap.01";

constexpr size_t kKept = 4096;  // bytes from which on a frame's memory is handed over instead of copied

// A message of libzmq's.
class RawMessage {
 public:
  explicit RawMessage(const ZeroMq& zmq) : zmq_(zmq) { zmq_.msg_init(&message_); }
  ~RawMessage() { zmq_.msg_close(&message_); }
  RawMessage(const RawMessage&) = delete;
  RawMessage& operator=(const RawMessage&) = delete;

  bool receive(void* socket) { return zmq_.msg_recv(&message_, socket, ZMQ_DONTWAIT) >= 0; }
  std::string_view bytes() { return {static_cast<char*>(zmq_.msg_data(&message_)), zmq_.msg_size(&message_)}; }
  // What it has brought, as a frame; of large ones the memory goes along.
  Frame taken() {
    if (zmq_.msg_size(&message_) < kKept) return Frame(std::string(bytes()));
    auto held = std::make_shared<RawMessage>(zmq_);
    zmq_.msg_move(&held->message_, &message_);
    const std::string_view bytes = held->bytes();
    return Frame(bytes, std::move(held));
  }
  bool send(void* socket, int flags) { return zmq_.msg_send(&message_, socket, flags) >= 0; }
  // Of memory that stays until the message has left.
  void refer(std::string_view bytes, const std::shared_ptr<const void>& owner) {
    auto* held = new Held{owner};
    held->whole.store(true, std::memory_order_release);
    auto release = [](void*, void* hint) {
      auto* held = static_cast<Held*>(hint);
      if (held->whole.load(std::memory_order_acquire)) delete held;
    };
    zmq_.msg_init_data(&message_, const_cast<char*>(bytes.data()), bytes.size(), release, held);
  }
  bool more() const { return zmq_.msg_more(&message_) != 0; }
  int connection() const { return zmq_.msg_get(&message_, ZMQ_SRCFD); }

 private:
  // What a thread of libzmq's lets go. That it does so after it was made, libzmq knows, and ThreadSanitizer learns from `whole`.
  struct Held {
    std::shared_ptr<const void> owner;
    std::atomic<bool> whole = false;
  };
  const ZeroMq& zmq_;
  zmq_msg_t message_;
};

class ZeroMqTransport : public Transport {
 public:
  ZeroMqTransport(const ZeroMq& zmq, const ZeroMqOptions& options)
      : zmq_(zmq), options_(options), shared_(options.context != nullptr ? options.context : std::make_shared<ZeroMqContext>(zmq, 1)) {}
  ~ZeroMqTransport() override {
    close(Duration(0));
    if (wake_ >= 0) ::close(wake_);  // not before: others may still wake it
  }

  absl::Status start() {
    context_ = shared_->enter();
    wake_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (context_ == nullptr || wake_ < 0) return absl::ResourceExhaustedError("the system grants no socket");
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> listen(const std::string& address) override {
    if (router_.socket != nullptr) return absl::FailedPreconditionError("the endpoint listens already");
    if (options_.keys.empty() && !options_.insecure && !is_loopback(address)) {
      return absl::PermissionDeniedError(
          absl::StrCat("refusing to listen at ", address, ", where other machines can connect, without keys"));
    }
    if (absl::Status status = open(router_, ZMQ_ROUTER, address); !status.ok()) return status;
    set(router_.socket, ZMQ_ROUTER_MANDATORY, 1);
    if (!options_.keys.empty()) {
      if (absl::Status status = serve_keys(); !status.ok()) return status;
    }
    if (zmq_.bind(router_.socket, address.c_str()) != 0) return failed(absl::StrCat("cannot listen at ", address));
    char bound[256] = {};
    size_t size = sizeof bound;
    if (zmq_.getsockopt(router_.socket, ZMQ_LAST_ENDPOINT, bound, &size) != 0) return failed("cannot listen");
    if (zmq_.bind(router_.socket, ZeroMqContext::name_within(bound).c_str()) != 0) return failed("cannot listen within the process");
    shared_->listens(bound);
    return std::string(bound);
  }

  absl::StatusOr<Peer> connect(const std::string& address) override {
    const Peer peer = next_peer_++;
    Socket& dealer = dealers_[peer];
    if (absl::Status status = open(dealer, ZMQ_DEALER, address); !status.ok()) return status;
    const bool is_here = shared_->has(address);
    const std::string reached = is_here ? ZeroMqContext::name_within(address) : address;
    if (!is_here && !options_.keys.empty()) {
      set_text(dealer.socket, ZMQ_CURVE_SERVERKEY, options_.keys.public_key);
      set_text(dealer.socket, ZMQ_CURVE_PUBLICKEY, options_.keys.public_key);
      set_text(dealer.socket, ZMQ_CURVE_SECRETKEY, options_.keys.secret_key);
    }
    if (zmq_.connect(dealer.socket, reached.c_str()) != 0) {
      absl::Status status = failed(absl::StrCat("cannot connect to ", address));
      drop(peer);
      return status;
    }
    return peer;
  }

  absl::Status send(Peer peer, std::span<const std::string_view> frames, const std::shared_ptr<const void>& owner) override {
    auto dealer = dealers_.find(peer);
    if (dealer != dealers_.end()) return send_frames(dealer->second.socket, frames, owner);
    auto stranger = strangers_.find(peer);
    if (stranger == strangers_.end()) return absl::UnavailableError("the connection has ended");
    const std::string& id = stranger->second.id;
    if (zmq_.send(router_.socket, id.data(), id.size(), ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0)
      return absl::UnavailableError("the connection has ended");
    return send_frames(router_.socket, frames, owner);
  }

  absl::StatusOr<Arrival> receive(Duration most) override {
    const auto end = std::chrono::steady_clock::now() + most;
    while (arrivals_.empty()) {
      const Duration left = end - std::chrono::steady_clock::now();
      if (absl::Status status = poll(std::max(left, Duration(0))); !status.ok()) return status;
      if (arrivals_.empty() && (left <= Duration(0) || std::exchange(interrupted_, false))) return Arrival{};
    }
    Arrival arrival = std::move(arrivals_.front());
    arrivals_.pop_front();
    return arrival;
  }

  void wake() override {
    const uint64_t one = 1;
    [[maybe_unused]] ssize_t written = ::write(wake_, &one, sizeof one);  // fails only if it is awake 2^64 times
  }

  void drop(Peer peer) override {
    std::erase_if(arrivals_, [&](const Arrival& arrival) { return arrival.peer == peer; });
    if (auto dealer = dealers_.find(peer); dealer != dealers_.end()) {
      shut(dealer->second, 0);
      dealers_.erase(dealer);
    }
    auto stranger = strangers_.find(peer);
    if (stranger == strangers_.end()) return;
    // libzmq has no way to end one connection of a socket; it notices that the other side can be read no more.
    ::shutdown(stranger->second.connection, SHUT_RDWR);
    forget(peer);
  }

  void close(Duration most) override {
    if (context_ == nullptr) return;
    const int linger = static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(most).count());
    for (auto& [peer, dealer] : dealers_) shut(dealer, linger);
    dealers_.clear();
    shut(router_, linger);
    if (zap_ != nullptr) zmq_.close(zap_);
    context_ = nullptr;
    shared_->leave();
  }

 private:
  struct Socket {
    void* socket = nullptr;
    void* monitor = nullptr;  // tells of connections that end
    int refusals = 0;         // connections in a row that ended before they could be used
  };
  struct Stranger {
    std::string id;  // libzmq's
    int connection;  // the file descriptor
  };

  absl::Status failed(const std::string& what) const {
    return absl::UnavailableError(absl::StrCat(what, ": ", zmq_.strerror(zmq_.last_error())));
  }

  void set(void* socket, int option, int value) { zmq_.setsockopt(socket, option, &value, sizeof value); }
  void set_text(void* socket, int option, const std::string& value) {
    zmq_.setsockopt(socket, option, value.c_str(), value.size() + 1);
  }

  absl::Status open(Socket& socket, int type, const std::string& address) {
    socket.socket = zmq_.socket(context_, type);
    if (socket.socket == nullptr) return failed("the system grants no socket");
    const int64_t largest = options_.largest_frame + kSealing;
    zmq_.setsockopt(socket.socket, ZMQ_MAXMSGSIZE, &largest, sizeof largest);
    // Whoever is above sends no more than the plan and its credit allow.
    set(socket.socket, ZMQ_SNDHWM, 0);
    set(socket.socket, ZMQ_RCVHWM, 0);
    set(socket.socket, ZMQ_IPV6, absl::StartsWith(address, "tcp://[") ? 1 : 0);
    set(socket.socket, ZMQ_HANDSHAKE_IVL, kHandshakeMilliseconds);
    set(socket.socket, ZMQ_RECONNECT_IVL, kReconnectMilliseconds);
    set(socket.socket, ZMQ_RECONNECT_IVL_MAX, kMostReconnectMilliseconds);
    const std::string place = shared_->fresh_name();
    if (zmq_.socket_monitor(socket.socket, place.c_str(), kEvents) != 0)
      return failed("no monitor");
    socket.monitor = zmq_.socket(context_, ZMQ_PAIR);
    if (socket.monitor == nullptr || zmq_.connect(socket.monitor, place.c_str()) != 0) return failed("no monitor");
    return absl::OkStatus();
  }

  void shut(Socket& socket, int linger) {
    if (socket.monitor != nullptr) zmq_.close(socket.monitor);
    if (socket.socket != nullptr) {
      set(socket.socket, ZMQ_LINGER, linger);
      zmq_.close(socket.socket);
    }
    socket = {};
  }

  // From here on connections to the ROUTER need keys, and `answer_zap` is asked about each.
  absl::Status serve_keys() {
    zap_ = zmq_.socket(context_, ZMQ_REP);
    if (zap_ == nullptr || zmq_.bind(zap_, kZapAddress) != 0) return failed("no authentication");
    set(router_.socket, ZMQ_CURVE_SERVER, 1);
    set_text(router_.socket, ZMQ_CURVE_SECRETKEY, options_.keys.secret_key);
    zmq_.setsockopt(router_.socket, ZMQ_ZAP_DOMAIN, "mxc", 3);
    return absl::OkStatus();
  }

  // `owner`: of the last frame; or null.
  absl::Status send_frames(void* socket, std::span<const std::string_view> frames, const std::shared_ptr<const void>& owner = nullptr) {
    for (size_t i = 0; i < frames.size(); ++i) {
      const bool last = i + 1 == frames.size();
      const int flags = ZMQ_DONTWAIT | (last ? 0 : ZMQ_SNDMORE);
      if (!(last && owner != nullptr && frames[i].size() >= kKept ? send_kept(socket, frames[i], owner, flags)
                                                                  : zmq_.send(socket, frames[i].data(), frames[i].size(), flags) >= 0))
        return failed("cannot send");
    }
    return absl::OkStatus();
  }

  bool send_kept(void* socket, std::string_view frame, const std::shared_ptr<const void>& owner, int flags) {
    RawMessage message(zmq_);
    message.refer(frame, owner);
    shared_->hand_over();
    return message.send(socket, flags);
  }

  // Waits for anything, and turns it into arrivals.
  absl::Status poll(Duration most) {
    std::vector<zmq_pollitem_t> items = {{nullptr, wake_, ZMQ_POLLIN, 0}};
    auto watch = [&](void* socket) { items.push_back({socket, 0, ZMQ_POLLIN, 0}); };
    if (options_.also >= 0) items.push_back({nullptr, options_.also, ZMQ_POLLIN, 0});
    const size_t first = items.size();
    if (zap_ != nullptr) watch(zap_);
    if (router_.socket != nullptr) {
      watch(router_.socket);
      watch(router_.monitor);
    }
    for (auto& [peer, dealer] : dealers_) {
      watch(dealer.socket);
      watch(dealer.monitor);
    }
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(most).count();
    if (zmq_.poll(items.data(), static_cast<int>(items.size()), wait) < 0 && zmq_.last_error() != EINTR)
      return failed("cannot receive");
    interrupted_ = options_.also >= 0 && items[1].revents != 0;
    uint64_t times;
    if (::read(wake_, &times, sizeof times) == sizeof times) arrivals_.push_back({Arrival::Kind::woken, 0, {}});
    // Whoever has nothing is not asked: that is a system call.
    size_t at = first;
    auto ready = [&] { return items[at++].revents != 0; };
    if (zap_ != nullptr && ready()) answer_zap();
    if (router_.socket != nullptr) {
      if (ready()) take(router_.socket, 0, kBatch);
      if (ready()) take_events(router_, 0);
    }
    for (auto& [peer, dealer] : dealers_) {
      if (ready()) take(dealer.socket, peer, kBatch);
      if (ready()) take_events(dealer, peer);
    }
    return std::exchange(broken_, absl::OkStatus());
  }

  // All frames of the message that begins with `first`. Empty: too many. The last one knows the connection that it came through.
  std::vector<Frame> rest_of(void* socket, RawMessage& first, int* connection = nullptr) {
    bool more = first.more();
    std::vector<Frame> frames = {first.taken()};
    while (more) {
      RawMessage next(zmq_);
      if (!next.receive(socket)) return {};
      more = next.more();
      if (connection != nullptr) *connection = next.connection();
      if (frames.size() <= kMostFrames) frames.push_back(next.taken());
    }
    return frames.size() > kMostFrames ? std::vector<Frame>() : frames;
  }

  // Up to `most` messages; of the ROUTER if `peer` is 0.
  void take(void* socket, Peer peer, int most) {
    for (int i = 0; i < most; ++i) {
      RawMessage first(zmq_);
      if (!first.receive(socket)) return;
      int connection = -1;
      std::vector<Frame> frames = rest_of(socket, first, &connection);
      if (frames.empty()) continue;
      shared_->take_over();
      Peer from = peer;
      if (from == 0) {
        from = stranger(std::string(frames[0]), connection);
        frames.erase(frames.begin());
      }
      arrivals_.push_back({Arrival::Kind::message, from, std::move(frames)});
    }
  }

  Peer stranger(const std::string& id, int connection) {
    auto [known, fresh] = by_id_.emplace(id, next_peer_);
    if (!fresh) return known->second;
    if (strangers_.size() >= kMostStrangers) forget(strangers_.begin()->first);
    by_connection_[connection] = next_peer_;
    strangers_[next_peer_] = {id, connection};
    return next_peer_++;
  }

  void forget(Peer peer) {
    auto found = strangers_.find(peer);
    by_id_.erase(found->second.id);
    if (auto at = by_connection_.find(found->second.connection); at != by_connection_.end() && at->second == peer)
      by_connection_.erase(at);
    strangers_.erase(found);
  }

  void take_events(Socket& socket, Peer peer) {
    while (true) {
      RawMessage first(zmq_);
      if (!first.receive(socket.monitor)) return;
      const std::vector<Frame> frames = rest_of(socket.monitor, first);
      if (frames.empty() || frames[0].size() < 6) continue;
      uint16_t event;
      int32_t value;
      std::memcpy(&event, frames[0].data(), sizeof event);
      std::memcpy(&value, frames[0].data() + sizeof event, sizeof value);
      if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) socket.refusals = 0;
      // A listener with other keys says nothing and hangs up, as one does that dies at that moment, or stands still: once is no answer.
      const bool hung_up = event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL && ++socket.refusals == kMostRefusals;
      if (peer != 0 && (hung_up || event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL || event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)) broken_ = refused(std::string(frames.back()));
      if (event == ZMQ_EVENT_DISCONNECTED) ended(socket, peer, value);
    }
  }

  absl::Status refused(const std::string& address) const {
    return absl::InvalidArgumentError(
        absl::StrCat(address, options_.keys.empty() ? " takes no connection without keys, or is not of this job" : " refuses the keys of this process"));
  }

  // What the connection brought before it ended has been received by libzmq: it comes first.
  void ended(Socket& socket, Peer peer, int connection) {
    take(socket.socket, peer, INT32_MAX);
    if (peer == 0) {
      auto found = by_connection_.find(connection);
      if (found == by_connection_.end()) return;
      peer = found->second;
      forget(peer);
    }
    arrivals_.push_back({Arrival::Kind::lost, peer, {}});
  }

  // ZAP (RFC 27): version, request, domain, address, identity, mechanism, and the client's key.
  void answer_zap() {
    if (zap_ == nullptr) return;
    while (true) {
      RawMessage first(zmq_);
      if (!first.receive(zap_)) return;
      const std::vector<Frame> frames = rest_of(zap_, first);
      char key[41] = {};
      const bool ours = frames.size() == 7 && std::string_view(frames[5]) == "CURVE" && frames[6].size() == 32 &&
                        zmq_.z85_encode(key, reinterpret_cast<const uint8_t*>(frames[6].data()), 32) != nullptr &&
                        key == options_.keys.public_key;
      const std::string_view request = frames.size() > 1 ? frames[1] : std::string_view();
      const std::string_view answer[] = {"1.0", request, ours ? "200" : "400", ours ? "OK" : "not a key of this job", "", ""};
      (void)send_frames(zap_, answer);
    }
  }

  const ZeroMq& zmq_;
  const ZeroMqOptions options_;
  const std::shared_ptr<ZeroMqContext> shared_;
  void* context_ = nullptr;
  int wake_ = -1;
  Socket router_;
  void* zap_ = nullptr;
  std::map<Peer, Socket> dealers_;
  Peer next_peer_ = 1;
  // Connections to the ROUTER.
  std::map<Peer, Stranger> strangers_;
  std::map<std::string, Peer> by_id_;
  std::map<int, Peer> by_connection_;
  std::deque<Arrival> arrivals_;
  bool interrupted_ = false;  // by options_.also
  absl::Status broken_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Transport>> make_zeromq_transport(const ZeroMqOptions& options) {
  absl::StatusOr<const ZeroMq*> zmq = ZeroMq::load();
  if (!zmq.ok()) return zmq.status();
  ::mallopt(M_MMAP_THRESHOLD, kMapThreshold);
  ::mallopt(M_TRIM_THRESHOLD, kTrimThreshold);
  auto transport = std::make_unique<ZeroMqTransport>(**zmq, options);
  if (absl::Status status = transport->start(); !status.ok()) return status;
  return transport;
}

bool is_loopback(const std::string& address) {
  if (absl::StartsWith(address, "ipc://") || absl::StartsWith(address, "inproc://")) return true;
  const size_t colon = address.rfind(':');
  if (!absl::StartsWith(address, "tcp://") || colon < 6) return false;
  const std::string host = address.substr(6, colon - 6);
  if (host == "localhost" || host == "[::1]") return true;
  return absl::StartsWith(host, "127.") && host.find_first_not_of("0123456789.") == std::string::npos;
}

}  // namespace mxc::kv
