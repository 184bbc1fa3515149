// The thread of a process that is the server of level 1 for some chunks of its machine. See process_threads.h.
#include <algorithm>
#include <utility>

#include "runtime/kv/process_threads.h"
#include "runtime/kv/scheduler_loop.h"

namespace mxc::kv {

namespace {

constexpr Duration kLongest = std::chrono::seconds(1);    // without a look at whether the process ends
constexpr Duration kLastWords = std::chrono::seconds(1);  // for answers to leave

}  // namespace

Process::Level1::Level1(Process& process, std::unique_ptr<Transport> transport) : process_(process), transport_(std::move(transport)) {}

// The others of the machine are known when all of the job are.
bool Process::Level1::begin() {
  const std::optional<std::vector<std::string>> places = process_.wait_for_places();
  const uint32_t rank = process_.options_.rank;
  const CommunicationPlan& plan = process_.plan_;
  if (!places.has_value() || plan.machines.empty() || plan.machines.members(rank).size() == 1) return false;
  server_.emplace(plan, process_.worker_options());
  clients_.emplace(process_, *transport_, [](uint32_t) {});
  servers_.emplace(process_, *transport_, server_->worker(), plan.speaker_for_machine(rank));
  servers_->connect(*places);
  return true;
}

void Process::Level1::run() {
  for (bool goes_on = begin(); goes_on;) {
    servers_->send();
    servers_->look();
    absl::StatusOr<Arrival> arrival = transport_->receive(std::clamp(server_->worker().next_time() - now(), Duration(0), kLongest));
    if (arrival.ok()) take(*arrival);
    else process_.fail(arrival.status());
    std::lock_guard lock(process_.mutex_);
    goes_on = arrival.ok() && !process_.stopping_;
  }
  transport_->close(kLastWords);
}

void Process::Level1::take(Arrival& arrival) {
  std::vector<Reply> replies;
  if (servers_->have(arrival.peer)) {
    const std::optional<Servers::Said> said = servers_->read(arrival);
    if (!said.has_value()) return;
    const absl::Status status = server_->receive_from_level2(said->server, said->message, now(), replies);
    if (status.code() == absl::StatusCode::kFailedPrecondition) process_.fail(status);
  } else if (arrival.kind == Arrival::Kind::message) {
    const std::optional<Message> message = clients_->read(arrival);
    if (!message.has_value()) return;
    clients_->settle(arrival.peer, server_->receive(message->header.sender, *message, replies));
  }
  clients_->answer(replies);
}

}  // namespace mxc::kv
