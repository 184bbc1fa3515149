// See worker.h.
#include "runtime/kv/worker.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mxc::kv {

namespace {

constexpr int32_t kFirst = INT32_MAX;      // nothing may go before `open`
constexpr int32_t kCheck = INT32_MAX - 1;  // and nothing between it and a `check`
constexpr int32_t kLight = INT32_MAX - 2;  // requests that carry nothing
const Summed kNothing;
constexpr int kMorePatience = 16;          // with requests that carry arrays, or whose answer does

}  // namespace

// Messages to a server beside the worker cross no link.
Worker::Worker(const CommunicationPlan& plan, const WorkerOptions& options)
    : plan_(plan),
      options_(options),
      credit_(options.credit / std::max<int64_t>(1, plan.rules.servers - (plan.server_of_rank(options.rank) ? 1 : 0))),
      servers_(plan.servers()),
      committed_(plan.chunks.size()),
      uncommitted_(plan.chunks.size()) {
  for (uint32_t server = 0; server < plan.rules.servers; ++server) ask_to_open(server);
  for (uint32_t chunk = 0; chunk < plan.chunks.size(); ++chunk)
    if (plan.is_level1(server_for(chunk))) ask_to_open(server_for(chunk));
}

void Worker::ask_to_open(uint32_t server) {
  servers_[server].is_used = true;
  Pending open;
  open.header.type = Type::open;
  open.header.step = plan_.hash;
  open.server = server;
  open.priority = kFirst;
  add({Kind::open, 0, server, 0}, std::move(open));
}

void Worker::init(uint32_t chunk, std::string value) {
  Pending init;
  init.header.type = Type::init;
  init.header.chunk = chunk;
  init.payload = Summed(std::move(value));
  init.server = plan_.chunks[chunk].server;
  init.priority = plan_.chunks[chunk].priority;
  add({Kind::init, chunk, 0, 0}, std::move(init));
}

void Worker::push(uint32_t chunk, uint32_t part, uint64_t step, uint32_t weight, Frame bytes, int32_t priority) {
  Pending push;
  push.header.type = Type::push;
  push.header.chunk = chunk;
  push.header.part = part;
  push.header.step = step;
  push.header.weight = weight;
  push.header.codec = plan_.chunks[chunk].packed == 0 || bytes.empty() ? 0 : 1;
  if (!bytes.empty()) push.payload = Summed(std::move(bytes));
  push.server = server_for(chunk);
  push.priority = priority;
  uncommitted_[chunk].insert(step);
  add({Kind::push, chunk, part, step}, std::move(push));
}

void Worker::pull(uint64_t ticket, uint32_t chunk, uint64_t step, bool has_before) {
  Pending pull;
  pull.header.type = Type::pull;
  pull.header.chunk = chunk;
  pull.header.step = options_.consistency.version_for(step);
  pull.header.sequence = ticket;
  pull.header.weight = has_before ? 1 : 0;
  pull.server = server_for(chunk);
  pull.priority = kLight;
  add({Kind::pull, chunk, 0, ticket}, std::move(pull));
}

void Worker::ask(uint64_t ticket, uint32_t chunk) {
  Pending ask;
  ask.header.type = Type::ask;
  ask.header.chunk = chunk;
  ask.header.sequence = ticket;
  ask.server = plan_.chunks[chunk].server;
  ask.priority = kLight;
  add({Kind::ask, chunk, 0, ticket}, std::move(ask));
}

void Worker::finish(uint32_t chunk, uint64_t step) {
  Pending finish;
  finish.header.type = Type::finish;
  finish.header.chunk = chunk;
  finish.header.step = step;
  finish.server = server_for(chunk);
  finish.priority = kLight;
  add({Kind::finish, chunk, 0, 0}, std::move(finish));
}

// The step itself, if some of its parts have been pushed, is one of the window.
bool Worker::has_room(uint32_t chunk, uint64_t step) const {
  const auto& steps = uncommitted_[chunk];
  return steps.contains(step) || steps.size() < options_.consistency.window();
}

bool Worker::is_idle() const { return pending_.empty(); }
uint64_t Worker::committed(uint32_t chunk) const { return committed_[chunk]; }

void Worker::add(const Id& id, Pending pending) {
  pending.order = next_order_++;
  pending.patience = patience_with(id);
  auto [place, fresh] = pending_.emplace(id, std::move(pending));
  if (!fresh) return;
  ++servers_[place->second.server].wanted;
  enqueue(id);
}

Duration Worker::patience_with(const Id& id) const {
  const bool carries = id.kind == Kind::init || id.kind == Kind::pull;
  return carries ? std::min(kMorePatience * options_.patience, std::max(options_.patience, options_.most_patience)) : options_.patience;
}

// A probe goes before what waits for credit: it may be what gives that back.
void Worker::enqueue(const Id& id) {
  Pending& pending = pending_.at(id);
  dequeue(id, pending);
  pending.turn = id.kind == Kind::push && !pending.whole ? kLight : pending.priority;
  servers_[pending.server].queue.insert({-pending.turn, pending.order, id});
  queued_.insert(pending.server);
}

void Worker::dequeue(const Id& id, const Pending& pending) {
  auto& queue = servers_[pending.server].queue;
  queue.erase({-pending.turn, pending.order, id});
  if (queue.empty()) queued_.erase(pending.server);
}

// Bytes that a server has received, or that will not come, no longer hold others back.
void Worker::give_back(Pending& pending) { servers_[pending.server].on_the_way -= std::exchange(pending.charged, 0); }

void Worker::answered(const Id& id) {
  auto found = pending_.find(id);
  if (found == pending_.end()) return;
  Pending& pending = found->second;
  give_back(pending);
  alarms_.erase({pending.again, id});
  dequeue(id, pending);
  if (ServerState& server = servers_[pending.server]; --server.wanted == 0) server.waited_for = Time::max();
  pending_.erase(found);
}

void Worker::arm(const Id& id, Pending& pending, Time now) {
  alarms_.erase({pending.again, id});
  pending.again = now + pending.patience;
  alarms_.insert({pending.again, id});
  pending.patience = std::min(2 * pending.patience, options_.most_patience);
}

absl::Status Worker::receive(uint32_t server, const Message& message, Time now, std::vector<Pulled>& pulled) {
  const Header& header = message.header;
  servers_[server].heard = now;
  if (servers_[server].wanted > 0) servers_[server].waited_for = now;
  auto from_elsewhere = [&] { return plan_.chunks[header.chunk].server != server && server_for(header.chunk) != server; };
  const Id push = {Kind::push, header.chunk, header.part, header.step};
  switch (header.type) {
    case Type::opened:
      servers_[server].open = true;
      answered({Kind::open, 0, server, 0});
      return absl::OkStatus();
    case Type::refused: return absl::FailedPreconditionError(std::string(message.payload));
    default: break;
  }
  if (header.chunk >= plan_.chunks.size() || from_elsewhere())
    return absl::InvalidArgumentError(absl::StrCat(name_of(header.type), " of a chunk that lies on another server"));
  switch (header.type) {
    case Type::initialised: answered({Kind::init, header.chunk, 0, 0}); break;
    case Type::finished: answered({Kind::finish, header.chunk, 0, 0}); break;
    case Type::received: {
      auto found = pending_.find(push);
      if (found == pending_.end()) break;
      give_back(found->second);
      found->second.whole = false;
      if (std::exchange(found->second.received, true)) break;
      if (!options_.servers_return) found->second.payload = {};
      found->second.patience = options_.patience;  // from now on it is the others' turn
      arm(push, found->second, now);
      break;
    }
    case Type::missing: {
      if (pending_.contains({Kind::check, header.chunk, 0, header.step})) {
        return absl::FailedPreconditionError(absl::StrCat("rank ", plan_.rank_of_server(server), " has lost step ", header.step,
                                                          " of what it had updated: its state was damaged or removed"));
      }
      auto found = pending_.find(push);
      if (found == pending_.end() || (found->second.received && !options_.servers_return)) break;  // it was said before
      give_back(found->second);  // the bytes are lost, and so no longer on their way
      found->second.received = false;
      found->second.whole = true;
      enqueue(push);
      break;
    }
    case Type::committed: committed(header); break;
    case Type::version:
    case Type::value: {
      const Id pull = {header.type == Type::value ? Kind::pull : Kind::ask, header.chunk, 0, header.sequence};
      if (!pending_.contains(pull)) break;  // it came twice
      answered(pull);
      pulled.push_back({header.sequence, header.chunk, header.step, message.payload, header.codec == 1});
      break;
    }
    default: return absl::InvalidArgumentError(absl::StrCat(name_of(header.type), ": workers take no such messages"));
  }
  return absl::OkStatus();
}

void Worker::committed(const Header& header) {
  for (Kind kind : {Kind::push, Kind::check}) {
    for (auto at = pending_.lower_bound({kind, header.chunk, 0, 0});
         at != pending_.end() && at->first.kind == kind && at->first.chunk == header.chunk;) {
      const Id id = (at++)->first;
      if (id.step <= header.step) answered(id);
    }
  }
  committed_[header.chunk] = std::max(committed_[header.chunk], header.step);
  auto& steps = uncommitted_[header.chunk];
  steps.erase(steps.begin(), steps.upper_bound(header.step));
}

void Worker::check_commits(uint32_t server) {
  for (uint32_t chunk = 0; chunk < plan_.chunks.size(); ++chunk) {
    if (server_for(chunk) != server || committed_[chunk] == 0) continue;
    Pending check;
    check.header.type = Type::probe;
    check.header.chunk = chunk;
    check.header.step = committed_[chunk];
    check.server = server;
    check.priority = kCheck;  // a server that has lost it could not answer the rest
    add({Kind::check, chunk, 0, committed_[chunk]}, std::move(check));
  }
}

void Worker::lost(uint32_t server) {
  servers_[server].open = false;
  servers_[server].heard = ServerState().heard;
  ask_to_open(server);
  if (options_.servers_return) check_commits(server);
  for (auto& [id, pending] : pending_) {
    if (pending.server != server) continue;
    pending.received = false;
    pending.patience = patience_with(id);
    give_back(pending);
    if (pending.sent) pending.whole = id.kind != Kind::push;
    enqueue(id);
  }
}

bool Worker::may_send(const Id& id, const Pending& pending) const {
  const ServerState& state = servers_[pending.server];
  if (id.kind == Kind::open) return true;
  if (!state.open) return false;
  const auto bytes = static_cast<int64_t>(pending.payload.frame.size());
  return bytes == 0 || !pending.whole || state.on_the_way == 0 || state.on_the_way + bytes <= credit_;
}

// What was not answered in time is to be sent again; but a server that is still answering has the answer in its queue.
void Worker::wake_up(Time now) {
  while (!alarms_.empty() && alarms_.begin()->first <= now) {
    const Id id = alarms_.begin()->second;
    alarms_.erase(alarms_.begin());
    Pending& pending = pending_.at(id);
    const Time quiet = servers_[pending.server].heard + patience_with(id);
    if (quiet > now) {
      pending.again = quiet;
      alarms_.insert({quiet, id});
      continue;
    }
    pending.again = Time{};
    if (id.kind != Kind::push) give_back(pending);
    enqueue(id);
  }
}

// The first of a server's queue goes, or, if it has no credit, nothing of that server.
bool Worker::send(Time now, Request& request) {
  wake_up(now);
  auto turn = queued_.lower_bound(next_server_);
  for (size_t left = queued_.size(); left > 0; --left, ++turn) {
    if (turn == queued_.end()) turn = queued_.begin();
    const uint32_t server = *turn;
    const Id id = std::get<2>(*servers_[server].queue.begin());
    Pending& pending = pending_.at(id);
    if (!may_send(id, pending)) continue;
    dequeue(id, pending);
    const bool probe = id.kind == Kind::push && !pending.whole;
    if (!probe) {
      give_back(pending);
      pending.charged = static_cast<int64_t>(pending.payload.frame.size());
      servers_[server].on_the_way += pending.charged;
    }
    const Summed& payload = probe ? kNothing : pending.payload;
    request = {server, pending.header, payload.frame, pending.sent, payload};
    if (probe) {
      request.header.type = Type::probe;
      request.header.weight = request.header.codec = 0;
    }
    pending.sent = true;
    servers_[server].waited_for = std::min(servers_[server].waited_for, now);
    if (id.kind == Kind::push) pending.whole = false;
    arm(id, pending, now);
    next_server_ = server + 1;
    return true;
  }
  return false;
}

Time Worker::next_time() const { return alarms_.empty() ? Time::max() : alarms_.begin()->first; }

}  // namespace mxc::kv
