// See process_connections.h.
#include "runtime/kv/process_connections.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/kv/scheduler_loop.h"

namespace mxc::kv {

namespace {

constexpr Duration kSilence = std::chrono::seconds(3);    // of a server, after which it is asked whether its machine can be reached
constexpr Duration kMostPause = std::chrono::seconds(32);  // before it is asked again

}  // namespace

Process::Clients::Clients(Process& process, Transport& transport, std::function<void(uint32_t client)> returned)
    : process_(process), transport_(transport), limits_(process.plan_.limits(process.options_.job)), returned_(std::move(returned)) {}

std::optional<Message> Process::Clients::read(Arrival& arrival) {
  const std::vector<std::string_view> frames(arrival.frames.begin(), arrival.frames.end());
  absl::StatusOr<Message> message = parse(frames, limits_);
  if (message.ok() && frames.size() == 2) message->frame = &arrival.frames[1];
  const auto nobody = [&] {
    transport_.drop(arrival.peer);
    return std::nullopt;
  };
  if (!message.ok() || message->header.sender == kScheduler) return nobody();
  const Header& header = message->header;
  if (header.type == Type::open) {
    open(arrival.peer, header);
    return std::nullopt;
  }
  const auto client = clients_.find(header.sender);
  if (client == clients_.end() || client->second.peer != arrival.peer || client->second.incarnation != header.incarnation) return nobody();
  return *std::move(message);
}

void Process::Clients::open(Peer peer, const Header& header) {
  Header reply;
  if (header.step == process_.plan_.hash) {
    auto [client, fresh] = clients_.try_emplace(header.sender);
    if (!fresh && client->second.incarnation != header.incarnation) returned_(header.sender);
    client->second = {peer, header.incarnation};
    reply.type = Type::opened;
    return answer(peer, reply, "");
  }
  refuse(peer, absl::StrFormat("rank %d has another plan than rank %d (%016x and %016x)", process_.options_.rank, header.sender,
                               process_.plan_.hash, header.step));
}

void Process::Clients::settle(Peer peer, const absl::Status& status) {
  if (status.ok()) return;
  if (status.code() == absl::StatusCode::kInvalidArgument) return refuse(peer, std::string(status.message()));
  process_.fail(status);
}

void Process::Clients::refuse(Peer peer, const std::string& why) {
  Header reply;
  reply.type = Type::refused;
  answer(peer, reply, why);
}

void Process::Clients::answer(std::span<const Reply> replies) {
  for (const Reply& reply : replies) {
    if (auto to = clients_.find(reply.worker); to != clients_.end()) answer(to->second.peer, reply.header, reply.payload, reply.kept);
  }
}

void Process::Clients::answer(Peer peer, const Header& header, std::string_view payload, const Summed& kept) {
  Process::send(transport_, peer, process_.stamped(header, process_.options_.rank), payload, kept).IgnoreError();  // a worker that has gone asks again when it is back
}

Process::Servers::Servers(Process& process, Transport& transport, Worker& worker, uint32_t sender)
    : process_(process), transport_(transport), worker_(worker), sender_(sender), limits_(process.plan_.limits(process.options_.job)), probe_([&transport] { transport.wake(); }) {}

void Process::Servers::connect(const std::vector<std::string>& places) {
  const CommunicationPlan& plan = process_.plan_;
  if (places.size() != static_cast<size_t>(plan.rules.workers))
    return process_.fail(absl::InternalError("the scheduler knows of another number of members"));
  peers_.resize(plan.servers());
  addresses_.resize(peers_.size());
  tries_.resize(peers_.size());
  for (uint32_t server = 0; server < peers_.size(); ++server) {
    const Place place = parse_place(places[plan.rank_of_server(server)]);
    const std::string& address = plan.is_level1(server) ? place.level1 : place.server;
    if (!worker_.speaks_to(server) || address == addresses_[server]) continue;
    if (const std::optional<Peer> before = peers_[server]) {
      transport_.drop(*before);
      server_of_.erase(*before);
      worker_.lost(server);
    }
    const absl::StatusOr<Peer> peer = transport_.connect(address);
    if (!peer.ok()) return process_.fail(peer.status());
    server_of_[*peer] = server;
    peers_[server] = *peer;
    addresses_[server] = address;
  }
}

// Bytes that have been sent to a server, or received from it.
void Process::Servers::count(std::atomic<uint64_t>& bytes, Peer peer, size_t more) {
  bytes.fetch_add(more, std::memory_order_relaxed);
  if (transport_.shares_memory(peer)) process_.shared_.fetch_add(more, std::memory_order_relaxed);
}

void Process::Servers::send() {
  Request request;
  while (are_known() && worker_.send(now(), request)) {
    const Peer peer = peers_[request.server].value();
    count(process_.sent_, peer, kHeaderBytes + request.payload.size());
    process_.pushes_.fetch_add(request.header.type == Type::push ? 1 : 0, std::memory_order_relaxed);
    process_.again_.fetch_add(request.again ? 1 : 0, std::memory_order_relaxed);
    Process::send(transport_, peer, process_.stamped(request.header, sender_), request.payload, request.kept).IgnoreError();  // said again until it is answered
  }
}

void Process::Servers::look() {
  if (!are_known() || process_.options_.member.waits) return;
  if (const std::optional<ReachProbe::Answer> answer = probe_.answer(); answer.has_value() && !answer->is_reached && worker_.is_silent(answer->server, now(), kSilence)) {
    process_.fail(absl::UnavailableError(absl::StrCat("rank ", process_.plan_.rank_of_server(answer->server), " at ", host_and_port_of(addresses_[answer->server]).value_or(""),
                                                      " cannot be reached, though the scheduler has not missed it")));
  }
  for (uint32_t server = 0; server < peers_.size(); ++server) {
    Tries& tries = tries_[server];
    if (!worker_.is_silent(server, now(), kSilence)) {
      tries = {};
      continue;
    }
    const bool is_near = !peers_[server].has_value() || transport_.shares_memory(*peers_[server]) || !host_and_port_of(addresses_[server]).has_value();
    if (is_near || probe_.is_busy() || now() < tries.next) continue;
    tries.next = now() + tries.pause;
    tries.pause = std::min(2 * tries.pause, kMostPause);
    probe_.begin(server, addresses_[server]);
  }
}

std::optional<Process::Servers::Said> Process::Servers::read(Arrival& arrival) {
  const auto server = server_of_.find(arrival.peer);
  if (server == server_of_.end()) return std::nullopt;
  if (arrival.kind == Arrival::Kind::lost) worker_.lost(server->second);
  if (arrival.kind != Arrival::Kind::message) return std::nullopt;
  const std::vector<std::string_view> frames(arrival.frames.begin(), arrival.frames.end());
  for (std::string_view frame : frames) count(process_.received_, arrival.peer, frame.size());
  absl::StatusOr<Message> message = parse(frames, limits_);
  // What a server owes it is asked for again.
  if (!message.ok() || message->header.sender != process_.plan_.rank_of_server(server->second)) return std::nullopt;
  if (frames.size() == 2) message->frame = &arrival.frames[1];
  return Said{server->second, *std::move(message)};
}

}  // namespace mxc::kv
