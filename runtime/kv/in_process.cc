// See in_process.h.
#include "runtime/kv/in_process.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace mxc::kv {

using Clock = std::chrono::steady_clock;

namespace {

// Is the port left to the network?
bool is_open(const std::string& address) { return absl::EndsWith(address, ":0") || absl::EndsWith(address, ":*"); }

}  // namespace

// Two ends; an end is known to its endpoint by a number of its own.
struct InProcessNetwork::Connection {
  Endpoint* ends[2] = {nullptr, nullptr};  // null: not there, or gone
  Peer numbers[2] = {0, 0};
  std::string address;  // that the first end wants
};

struct InProcessNetwork::Endpoint {
  struct Late {
    Arrival arrival;
    int overtaken = 0;  // by so many more it may be
    Clock::time_point at;
  };

  std::condition_variable arrived;
  std::deque<Arrival> ready;
  std::deque<Late> late;
  bool woken = false, dead = false;
  std::string address;
  std::map<Peer, std::pair<std::shared_ptr<Connection>, int>> connections;  // and which end is this one's
};

class InProcessTransport : public Transport {
 public:
  explicit InProcessTransport(std::shared_ptr<InProcessNetwork> network) : network_(std::move(network)) {}
  ~InProcessTransport() override { close(Duration(0)); }

  absl::StatusOr<std::string> listen(const std::string& address) override {
    std::lock_guard lock(network_->mutex_);
    if (!self_.address.empty()) return absl::FailedPreconditionError("the endpoint listens already");
    self_.address = is_open(address) ? absl::StrCat(address.substr(0, address.size() - 1), network_->next_address_++) : address;
    if (!network_->listening_.emplace(self_.address, &self_).second)
      return absl::AlreadyExistsError(absl::StrCat("cannot listen at ", std::exchange(self_.address, ""), ": it is taken"));
    return self_.address;
  }

  absl::StatusOr<Peer> connect(const std::string& address) override {
    std::lock_guard lock(network_->mutex_);
    auto connection = std::make_shared<InProcessNetwork::Connection>();
    connection->address = address;
    connection->ends[0] = &self_;
    connection->numbers[0] = network_->next_peer_++;
    self_.connections[connection->numbers[0]] = {connection, 0};
    return connection->numbers[0];
  }

  absl::Status send(Peer peer, std::span<const std::string_view> frames, const std::shared_ptr<const void>&) override {
    std::lock_guard lock(network_->mutex_);
    auto found = self_.connections.find(peer);
    if (found == self_.connections.end() || self_.dead) return absl::UnavailableError("the connection has ended");
    auto& [connection, end] = found->second;
    if (connection->ends[1 - end] == nullptr && !reach(connection, end)) return absl::OkStatus();  // lost on its way
    Arrival arrival{Arrival::Kind::message, connection->numbers[1 - end], {}};
    for (std::string_view frame : frames) arrival.frames.emplace_back(std::string(frame));
    InProcessNetwork::Endpoint& to = *connection->ends[1 - end];
    if (network_->happens(network_->faults_.drop)) return absl::OkStatus();
    if (network_->happens(network_->faults_.duplicate)) network_->deliver(to, arrival);
    network_->deliver(to, std::move(arrival));
    return absl::OkStatus();
  }

  absl::StatusOr<Arrival> receive(Duration most) override {
    std::unique_lock lock(network_->mutex_);
    const Clock::time_point end = Clock::now() + most;
    while (true) {
      if (self_.dead) return absl::UnavailableError("the endpoint is dead");
      const Clock::time_point now = Clock::now();
      Clock::time_point until = end;
      for (auto late = self_.late.begin(); late != self_.late.end();) {
        if (late->at <= now || late->overtaken <= 0) {
          self_.ready.push_back(std::move(late->arrival));
          late = self_.late.erase(late);
        } else {
          until = std::min(until, late->at);
          ++late;
        }
      }
      if (std::exchange(self_.woken, false)) return Arrival{Arrival::Kind::woken, 0, {}};
      if (!self_.ready.empty()) {
        Arrival arrival = std::move(self_.ready.front());
        self_.ready.pop_front();
        return arrival;
      }
      if (now >= end) return Arrival{};
      self_.arrived.wait_until(lock, until);
    }
  }

  void wake() override {
    std::lock_guard lock(network_->mutex_);
    self_.woken = true;
    self_.arrived.notify_one();
  }

  void drop(Peer peer) override {
    std::lock_guard lock(network_->mutex_);
    auto found = self_.connections.find(peer);
    if (found == self_.connections.end()) return;
    auto [connection, end] = found->second;
    self_.connections.erase(found);
    std::erase_if(self_.ready, [&](const Arrival& arrival) { return arrival.peer == peer; });
    std::erase_if(self_.late, [&](const auto& late) { return late.arrival.peer == peer; });
    connection->ends[end] = nullptr;
    network_->sever(*connection);
  }

  void close(Duration) override {
    std::lock_guard lock(network_->mutex_);
    network_->end(self_);
  }

 private:
  // Finds the other end. False: nobody listens there.
  bool reach(std::shared_ptr<InProcessNetwork::Connection>& connection, int end) {
    auto listener = network_->listening_.find(connection->address);
    if (end != 0 || listener == network_->listening_.end()) return false;
    connection->ends[1] = listener->second;
    connection->numbers[1] = network_->next_peer_++;
    connection->ends[1]->connections[connection->numbers[1]] = {connection, 1};
    return true;
  }

  const std::shared_ptr<InProcessNetwork> network_;
  InProcessNetwork::Endpoint self_;
};

std::shared_ptr<InProcessNetwork> InProcessNetwork::create(const Faults& faults) {
  auto network = std::make_shared<InProcessNetwork>();
  network->set_faults(faults);
  return network;
}

std::unique_ptr<Transport> InProcessNetwork::endpoint() { return std::make_unique<InProcessTransport>(shared_from_this()); }

void InProcessNetwork::set_faults(const Faults& faults) {
  std::lock_guard lock(mutex_);
  faults_ = faults;
  state_ = faults.seed;
}

void InProcessNetwork::kill(const std::string& address) {
  std::lock_guard lock(mutex_);
  if (auto found = listening_.find(address); found != listening_.end()) end(*found->second);
}

// SplitMix64.
uint64_t InProcessNetwork::number() {
  uint64_t z = state_ += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

bool InProcessNetwork::happens(int chance) { return chance > 0 && static_cast<int>(number() % 1000) < chance; }

void InProcessNetwork::deliver(Endpoint& to, Arrival arrival) {
  for (Endpoint::Late& late : to.late) --late.overtaken;
  if (happens(faults_.delay)) {
    const int overtaken = 1 + static_cast<int>(number() % static_cast<uint64_t>(faults_.most_overtaking));
    to.late.push_back({std::move(arrival), overtaken, Clock::now() + faults_.longest});
  } else {
    to.ready.push_back(std::move(arrival));
  }
  to.arrived.notify_one();
}

// One end has let go: the other is told, and may try again if it is the one that connected.
void InProcessNetwork::sever(Connection& connection) {
  for (int end : {0, 1}) {
    Endpoint* other = connection.ends[end];
    if (other == nullptr) continue;
    other->ready.push_back({Arrival::Kind::lost, connection.numbers[end], {}});
    other->arrived.notify_one();
    if (end == 1) other->connections.erase(connection.numbers[1]);
  }
  connection.ends[1] = nullptr;
}

void InProcessNetwork::end(Endpoint& endpoint) {
  if (endpoint.dead) return;
  endpoint.dead = true;
  listening_.erase(endpoint.address);
  for (auto& [peer, place] : std::exchange(endpoint.connections, {})) {
    place.first->ends[place.second] = nullptr;
    sever(*place.first);
  }
  endpoint.arrived.notify_all();
}

}  // namespace mxc::kv
