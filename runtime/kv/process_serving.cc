// See process_threads.h.
#include <utility>

#include "runtime/engine/running.h"
#include "runtime/kv/process_threads.h"

namespace mxc::kv {

namespace {

constexpr Duration kLongest = std::chrono::seconds(1);    // without a look at whether the process ends
constexpr Duration kLastWords = std::chrono::seconds(1);  // for answers to leave

}  // namespace

Process::Serving::Serving(Process& process, uint32_t number, std::unique_ptr<Transport> transport, Update update, std::unique_ptr<ServerState> state)
    : process_(process), number_(number), transport_(std::move(transport)), update_(std::move(update)), state_(std::move(state)) {}

// Who contributes is known when all members are.
bool Process::Serving::begin() {
  if (!process_.wait_for_places().has_value()) return false;
  const auto update = [this](const Step& step) {
    updated_key_.store(process_.plan_.chunks[step.chunk].pieces.front().key, std::memory_order_relaxed);
    absl::Status status = update_(step);
    updated_key_.store(-1, std::memory_order_relaxed);
    return status;
  };
  server_.emplace(process_.plan_, number_, process_.options_.worker.consistency, update, state_.get());
  clients_.emplace(process_, *transport_, [this](uint32_t worker) { server_->returned(worker); });
  return true;
}

void Process::Serving::run() {
  // An updater may queue operations, and those that the program has queued may wait for its result.
  engine::serves_operations = true;
  for (const bool began = begin(); began;) {
    {
      std::lock_guard lock(process_.mutex_);
      if (process_.stopping_) break;
    }
    absl::StatusOr<Arrival> arrival = transport_->receive(kLongest);
    if (!arrival.ok()) {
      process_.fail(arrival.status());
      break;
    }
    if (arrival->kind == Arrival::Kind::message) take(*arrival);
  }
  transport_->close(kLastWords);
}

void Process::Serving::take(Arrival& arrival) {
  const std::optional<Message> message = clients_->read(arrival);
  if (!message.has_value()) return;
  std::vector<Reply> replies;
  const absl::Status status = server_->receive(message->header.sender, *message, replies);
  clients_->answer(replies);
  clients_->settle(arrival.peer, status);
}

}  // namespace mxc::kv
