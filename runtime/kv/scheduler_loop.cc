// See scheduler_loop.h.
#include "runtime/kv/scheduler_loop.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace mxc::kv {

namespace {

constexpr Duration kBeat = std::chrono::milliseconds(100);
constexpr Duration kLastWords = std::chrono::seconds(2);  // for members to hear that the job is over

class Loop {
 public:
  Loop(Transport& transport, uint64_t job, const SchedulerOptions& options)
      : transport_(transport), limits_{job, options.members, {}, 1}, scheduler_(options, now()) {}

  absl::Status run() {
    Time end = Time::max();
    while (now() < end) {
      absl::StatusOr<Arrival> arrival = transport_.receive(kBeat);
      if (!arrival.ok()) return arrival.status();
      if (arrival->kind == Arrival::Kind::message) take(*arrival);
      if (arrival->kind == Arrival::Kind::lost) lose(arrival->peer);
      scheduler_.tick(now(), notices_);
      tell();
      if (scheduler_.is_over() && end == Time::max()) end = now() + kLastWords;
      // Who comes late is told, too.
      if (scheduler_.is_over() && scheduler_.all_have_come() && peers_.empty()) break;
    }
    return scheduler_.failure().empty() ? absl::OkStatus() : absl::AbortedError(scheduler_.failure());
  }

 private:
  // Whoever does not speak the protocol loses the connection.
  void take(const Arrival& arrival) {
    const std::vector<std::string_view> frames(arrival.frames.begin(), arrival.frames.end());
    const absl::StatusOr<Message> message = parse(frames, limits_);
    if (!message.ok() || message->header.sender == kScheduler) return transport_.drop(arrival.peer);
    const uint32_t rank = message->header.sender;
    if (message->header.type == Type::join && !is_of(arrival.peer, rank))
      peers_.emplace(rank, Claim{arrival.peer, message->header.incarnation});
    if (!is_of(arrival.peer, rank) || !scheduler_.receive(*message, now(), notices_).ok()) transport_.drop(arrival.peer);
  }

  bool is_of(Peer peer, uint32_t rank) const {
    auto [first, end] = peers_.equal_range(rank);
    return std::any_of(first, end, [&](const auto& entry) { return entry.second.peer == peer; });
  }

  void lose(Peer peer) {
    auto found = std::find_if(peers_.begin(), peers_.end(), [&](const auto& entry) { return entry.second.peer == peer; });
    if (found == peers_.end()) return;
    const auto [rank, claim] = *found;
    peers_.erase(found);
    scheduler_.lost(rank, claim.incarnation, notices_);
  }

  void tell() {
    for (Notice& notice : std::exchange(notices_, {})) {
      notice.header.job = limits_.job;
      notice.header.sender = kScheduler;
      const std::string header = header_frame(notice.header, notice.text);
      std::vector<std::string_view> frames = {header};
      if (!notice.text.empty()) frames.push_back(notice.text);
      auto [first, end] = peers_.equal_range(notice.rank);
      for (auto peer = first; peer != end; ++peer)
        transport_.send(peer->second.peer, frames).IgnoreError();  // of an end there is a `lost`
    }
  }

  struct Claim {
    Peer peer;
    uint64_t incarnation;
  };

  Transport& transport_;
  const Limits limits_;
  Scheduler scheduler_;
  std::multimap<uint32_t, Claim> peers_;  // of each rank: one, or several that claim it
  std::vector<Notice> notices_;
};

}  // namespace

Time now() { return std::chrono::steady_clock::now().time_since_epoch(); }

absl::Status run_scheduler(std::unique_ptr<Transport> transport, uint64_t job, const SchedulerOptions& options,
                           const std::string& address, const std::function<void(const std::string&)>& published) {
  absl::StatusOr<std::string> listening = transport->listen(address);
  if (!listening.ok()) return listening.status();
  published(*listening);
  absl::Status status = Loop(*transport, job, options).run();
  transport->close(kLastWords);
  return status;
}

}  // namespace mxc::kv
