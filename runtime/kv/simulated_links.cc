// See simulated_links.h.
#include "runtime/kv/simulated_links.h"

#include <algorithm>

namespace mxc::kv {

namespace {

constexpr double kSegmentSeconds = 1e-3 / 16, kSmallestSegment = 4096, kLargestSegment = 65536;

}  // namespace

SimulatedLinks::SimulatedLinks(Agenda& agenda, size_t machines, double bandwidth, double latency, double burst)
    : agenda_(agenda),
      bandwidth_(bandwidth),
      latency_(latency),
      burst_(burst),
      segment_(std::clamp(kSegmentSeconds * bandwidth, kSmallestSegment, kLargestSegment)),
      machines_(machines) {}

void SimulatedLinks::send(uint32_t from, uint32_t to, int connection, double bytes, std::function<void()> there) {
  Machine& machine = machines_[from];
  if (machine.measured) {
    machine.carried.out_busy += bytes / bandwidth_;
    machine.carried.sent += bytes;
    ++machine.carried.messages;
    machines_[to].carried.in_busy += bytes / bandwidth_;
    machines_[to].carried.received += bytes;
  }
  std::deque<Message>& waiting = machine.waiting[{to, connection}];
  waiting.push_back({bytes, std::move(there)});
  if (waiting.size() == 1) machine.turns.push_back({to, connection});
  if (!machine.sends) send_segment(from);
}

void SimulatedLinks::send_segment(uint32_t from) {
  Machine& machine = machines_[from];
  machine.sends = !machine.turns.empty();
  if (!machine.sends) return;
  const Connection connection = machine.turns.front();
  machine.turns.pop_front();
  std::deque<Message>& waiting = machine.waiting[connection];
  Message& message = waiting.front();
  const double segment = std::min(message.left, segment_);
  message.left -= segment;
  std::function<void()> there;
  if (message.left == 0) {
    there = std::move(message.there);
    waiting.pop_front();
  }
  if (!waiting.empty()) machine.turns.push_back(connection);
  agenda_.at(agenda_.now() + latency_, [this, to = connection.first, segment, there = std::move(there)]() mutable { come(to, segment, std::move(there)); });
  agenda_.at(carry(machine.out_free, segment), [this, from] { send_segment(from); });
}

// Such bytes reach a link. When it has carried them: what it could have carried while it was idle, up to a burst, it carries at once.
double SimulatedLinks::carry(double& free, double bytes) const {
  free = std::max(agenda_.now() - burst_ / bandwidth_, free) + bytes / bandwidth_;
  return std::max(agenda_.now(), free);
}

// Its first byte reaches the link. `there` is null: more of the message is to come.
void SimulatedLinks::come(uint32_t to, double segment, std::function<void()> there) {
  Machine& machine = machines_[to];
  const double come = carry(machine.in_free, segment);
  if (there != nullptr) agenda_.at(come, std::move(there));
}

}  // namespace mxc::kv
