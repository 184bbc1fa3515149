// See process_threads.h.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/engine/running.h"
#include "runtime/kv/process_threads.h"

namespace mxc::kv {

namespace {

constexpr Duration kLongest = std::chrono::seconds(1);    // without a look at whether the process ends
constexpr Duration kLastWords = std::chrono::seconds(1);  // for answers to leave

}  // namespace

Process::Serving::Serving(Process& process, uint32_t number, std::unique_ptr<Transport> transport, const Update& update, std::unique_ptr<ServerState> state)
    : process_(process),
      transport_(std::move(transport)),
      limits_(process.plan_.limits(process.options_.job)),
      state_(std::move(state)),
      server_(
          process.plan_, number, process.options_.worker.consistency,
          [this, update](const Step& step) {
            updated_key_.store(process_.plan_.chunks[step.chunk].pieces.front().key, std::memory_order_relaxed);
            absl::Status status = update(step);
            updated_key_.store(-1, std::memory_order_relaxed);
            return status;
          },
          state_.get()) {}

void Process::Serving::run() {
  // An updater may queue operations, and those that the program has queued may wait for its result.
  engine::serves_operations = true;
  while (true) {
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

// Whoever is no member, or sends what is no message, loses the connection, and nothing else happens.
void Process::Serving::take(Arrival& arrival) {
  const std::vector<std::string_view> frames(arrival.frames.begin(), arrival.frames.end());
  absl::StatusOr<Message> message = parse(frames, limits_);
  if (message.ok() && frames.size() == 2) message->frame = &arrival.frames[1];
  if (!message.ok() || message->header.sender == kScheduler) return transport_->drop(arrival.peer);
  const Header& header = message->header;
  if (header.type == Type::open) return open(arrival.peer, header);
  auto client = clients_.find(header.sender);
  if (client == clients_.end() || client->second.peer != arrival.peer || client->second.incarnation != header.incarnation)
    return transport_->drop(arrival.peer);
  std::vector<Reply> replies;
  const absl::Status status = server_.receive(header.sender, *message, replies);
  for (const Reply& reply : replies) {
    if (auto to = clients_.find(reply.worker); to != clients_.end()) answer(to->second.peer, reply.header, reply.payload);
  }
  if (status.ok()) return;
  if (status.code() == absl::StatusCode::kInvalidArgument) return refuse(arrival.peer, std::string(status.message()));
  process_.fail(status);
}

void Process::Serving::open(Peer peer, const Header& header) {
  Header reply;
  if (header.step == process_.plan_.hash) {
    auto [client, fresh] = clients_.try_emplace(header.sender);
    if (!fresh && client->second.incarnation != header.incarnation) server_.returned(header.sender);
    client->second = {peer, header.incarnation};
    reply.type = Type::opened;
    return answer(peer, reply, "");
  }
  refuse(peer, absl::StrFormat("rank %d has another plan than rank %d (%016x and %016x)", process_.options_.rank, header.sender,
                               process_.plan_.hash, header.step));
}

// A member that breaks the protocol is a fault of this program's: it hears why, and the job ends.
void Process::Serving::refuse(Peer peer, const std::string& why) {
  Header reply;
  reply.type = Type::refused;
  answer(peer, reply, why);
}

void Process::Serving::answer(Peer peer, const Header& header, std::string_view payload) {
  const std::string frame = header_frame(process_.stamped(header), payload);
  std::vector<std::string_view> frames = {frame};
  if (!payload.empty()) frames.push_back(payload);
  transport_->send(peer, frames).IgnoreError();  // a worker that has gone asks again when it is back
}

}  // namespace mxc::kv
