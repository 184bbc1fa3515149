// See simulator.h.
#include "runtime/kv/simulator.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/core/plan_sizes.h"
#include "runtime/kv/agenda.h"
#include "runtime/kv/server.h"
#include "runtime/kv/simulated_links.h"
#include "runtime/kv/tree.h"

namespace mxc::kv {

namespace {

constexpr int64_t kScale = 256;
constexpr int kUnmeasured = 2;
constexpr double kNever = 1e300;
constexpr int64_t kPacketHeaders = 20 + 32;  // of IP and of TCP with its time stamps
constexpr int64_t kEthernet = 38;            // header, check sum, preamble and gap
constexpr int64_t kSmallestPacket = 576;

Time as_time(double seconds) { return std::chrono::duration_cast<Time>(std::chrono::duration<double>(seconds)); }
double as_seconds(Time time) { return std::chrono::duration<double>(time).count(); }

// The plan with arrays of 1/kScale of what crosses links when they are pushed, at least an element. Nothing is packed in it.
CommunicationPlan shrunk(CommunicationPlan plan) {
  for (Chunk& chunk : plan.chunks) {
    const int64_t width = core::dtype_bytes(chunk.dtype);
    const auto bytes = static_cast<int64_t>(chunk.packed != 0 ? chunk.packed : chunk.bytes);
    chunk.packed = 0;
    chunk.bytes = static_cast<uint32_t>(std::max<int64_t>(1, bytes / kScale / width) * width);
  }
  return plan;
}

class Simulation {
 public:
  Simulation(const CommunicationPlan& plan, const SimulatedJob& job)
      : job_(job),
        real_(plan),
        plan_(shrunk(plan)),
        links_(agenda_, static_cast<size_t>(job.rules.workers), job.network.bandwidth, job.network.latency, static_cast<double>(job.network.burst)) {
    machines_.resize(static_cast<size_t>(job.rules.workers));
    for (uint32_t rank = 0; rank < machines_.size(); ++rank) {
      Machine& machine = machines_[rank];
      machine.worker = std::make_unique<Worker>(
          plan_, WorkerOptions{.rank = rank, .consistency = job.consistency, .credit = std::max<int64_t>(1, job.credit / kScale)});
      if (const std::optional<uint32_t> server = plan_.server_of_rank(rank))
        machine.server = std::make_unique<Server>(plan_, *server, job.consistency, [](const Step&) { return absl::OkStatus(); });
      const Node own = shards_of(rank, job.rules.workers, job.rules.shards);
      machine.shards = own.end - own.first;
      for (Node part : plan_.parts_of_worker(rank)) machine.weights.push_back(static_cast<uint32_t>(part.end - part.first));
      machine.pulled.assign(plan_.keys.size(), -1);
      machine.missing.assign(plan_.keys.size(), 0);
    }
  }

  absl::StatusOr<SimulatedStep> run() {
    for (uint32_t chunk = 0; chunk < plan_.chunks.size(); ++chunk) machines_[0].worker->init(chunk, std::string(plan_.chunks[chunk].bytes, '\0'));
    for (uint32_t rank = 0; rank < machines_.size(); ++rank) {
      for (uint32_t key = 0; key < plan_.keys.size(); ++key)
        if (plan_.keys[key].beside == plan::kNone) expect(machines_[rank], key);
      for (uint32_t chunk = 0; chunk < plan_.chunks.size(); ++chunk)
        if (plan_.keys[plan_.chunks[chunk].pieces.front().key].beside == plan::kNone) pull(rank, chunk, 0);
      go_on(rank);
    }
    while (failure_.ok() && agenda_.next()) {}
    if (!failure_.ok()) return failure_;
    return result();
  }

 private:
  enum class To : int { server, worker };
  struct Sent {
    To to = To::server;
    uint32_t machine = 0, from = 0;
    Header header = {};
    std::string payload = {};
  };
  struct Machine {
    std::unique_ptr<Worker> worker;
    std::unique_ptr<Server> server;  // null: it has none
    std::vector<uint32_t> weights;  // of its parts
    int64_t shards = 1;
    // Its program: where it is.
    int64_t step = 0, shard = 0;
    size_t at = 0;
    bool computing = false;
    double step_began = 0;
    std::vector<int64_t> pulled;        // by key: the steps in the value, as it has been asked for; -1: none yet
    std::vector<size_t> missing;        // by key: chunks that are pulled
    std::deque<std::pair<uint32_t, uint64_t>> waiting;  // pushes without room: key, step
    std::map<std::pair<uint32_t, uint64_t>, size_t> begun;               // by chunk and step: keys of a bundle that are there
    std::map<uint64_t, std::pair<uint32_t, uint64_t>> tickets;           // of pulls: chunk, step
    uint64_t next_ticket = 1;
    double server_free = 0, worker_free = 0;  // when its processors have time
    double wakes = kNever;
    double measured_from = 0, ended = 0;
  };

  // ---- The network: a message leaves, is there, has been taken in
  void put(To to, uint32_t from, uint32_t machine, const Header& header, std::string_view payload) {
    Sent sent = {.to = to, .machine = machine, .from = from, .header = header, .payload = std::string(payload)};
    if (from == machine) return agenda_.at(now(), [this, sent = std::move(sent)]() mutable { take_in(std::move(sent)); });
    const double bytes = link_bytes(sent);
    links_.send(from, machine, static_cast<int>(to), bytes, [this, sent = std::move(sent)]() mutable { take_in(std::move(sent)); });
  }

  double array_bytes(const Sent& sent) const {
    return sent.payload.empty() ? 0 : static_cast<double>(real_.chunks[sent.header.chunk].bytes);
  }
  // Contributions are packed; so are values, if workers that have the version before take differences (process_working.cc): in sync they all have it.
  bool is_packed(const Sent& sent) const {
    const Chunk& chunk = real_.chunks[sent.header.chunk];
    if (chunk.packed == 0 || sent.header.type == Type::push) return chunk.packed != 0;
    return sent.header.type == Type::value && sent.header.step > 0 && job_.consistency == Consistency() &&
           real_.keys[chunk.pieces.front().key].compressed == Key::Compressed::differences;
  }
  double link_bytes(const Sent& sent) const {
    const double arrays = sent.payload.empty() ? 0 : is_packed(sent) ? real_.chunks[sent.header.chunk].packed : array_bytes(sent);
    const double bytes = arrays + static_cast<double>(job_.network.overhead);
    if (job_.network.mtu == 0) return bytes;
    const double packets = std::ceil(bytes / static_cast<double>(job_.network.mtu - kPacketHeaders));
    return bytes + packets * (kPacketHeaders + kEthernet);
  }

  void take_in(Sent sent) {
    Machine& machine = machines_[sent.machine];
    double& free = sent.to == To::server ? machine.server_free : machine.worker_free;
    free = std::max(now(), free) + array_bytes(sent) / job_.network.processing;
    auto taken = [this, sent = std::move(sent)] { sent.to == To::server ? at_server(sent) : at_worker(sent); };
    free > now() ? agenda_.at(free, std::move(taken)) : taken();
  }

  void at_server(const Sent& sent) {
    if (sent.header.type == Type::open) {
      Header opened;
      opened.type = Type::opened;
      return put(To::worker, sent.machine, sent.from, opened, "");
    }
    std::vector<Reply> replies;
    failure_ = machines_[sent.machine].server->receive(sent.from, {sent.header, sent.payload}, replies);
    for (const Reply& reply : replies) put(To::worker, sent.machine, reply.worker, reply.header, reply.payload);
  }

  void at_worker(const Sent& sent) {
    Machine& machine = machines_[sent.machine];
    std::vector<Pulled> pulled;
    failure_ = machine.worker->receive(*plan_.server_of_rank(sent.from), {sent.header, sent.payload}, as_time(now()), pulled);
    for (const Pulled& one : pulled) {
      auto [chunk, step] = machine.tickets.extract(one.ticket).mapped();
      for (const Piece& piece : plan_.chunks[chunk].pieces)
        if (--machine.missing[piece.key] == 0) machine.pulled[piece.key] = static_cast<int64_t>(step);
    }
    while (!machine.waiting.empty() && has_room(machine, machine.waiting.front())) {
      auto [key, step] = machine.waiting.front();
      machine.waiting.pop_front();
      push_now(sent.machine, key, step);
    }
    go_on(sent.machine);
  }

  void send(uint32_t rank) {
    Machine& machine = machines_[rank];
    Request request;
    while (machine.worker->send(as_time(now()), request)) put(To::server, rank, plan_.rank_of_server(request.server), request.header, request.payload);
    const Time next = machine.worker->next_time();
    if (next == Time::max() || as_seconds(next) >= machine.wakes) return;
    machine.wakes = std::max(now(), as_seconds(next) + 1e-9);
    agenda_.at(machine.wakes, [this, rank] {
      machines_[rank].wakes = kNever;
      send(rank);
    });
  }

  // ---- The program of a machine
  bool has_room(const Machine& machine, std::pair<uint32_t, uint64_t> push) const {
    const auto& chunks = plan_.of_key[push.first];
    return std::all_of(chunks.begin(), chunks.end(), [&](uint32_t chunk) { return machine.worker->has_room(chunk, push.second); });
  }

  void push(uint32_t rank, uint32_t key, uint64_t step) {
    Machine& machine = machines_[rank];
    if (!machine.waiting.empty() || !has_room(machine, {key, step})) return machine.waiting.emplace_back(key, step), void();
    push_now(rank, key, step);
  }

  void push_now(uint32_t rank, uint32_t key, uint64_t step) {
    Machine& machine = machines_[rank];
    expect(machine, key);
    for (uint32_t chunk : plan_.of_key[key]) {
      size_t& begun = machine.begun[{chunk, step}];
      if (++begun < plan_.chunks[chunk].pieces.size()) continue;  // a bundle leaves with its last key
      machine.begun.erase({chunk, step});
      for (uint32_t part = 0; part < machine.weights.size(); ++part)
        machine.worker->push(chunk, part, step, machine.weights[part], std::string(plan_.chunks[chunk].bytes, '\0'), plan_.chunks[chunk].priority);
      pull(rank, chunk, step);
    }
  }

  void expect(Machine& machine, uint32_t key) { machine.missing[key] = plan_.of_key[key].size(); }
  void pull(uint32_t rank, uint32_t chunk, uint64_t step) {
    Machine& machine = machines_[rank];
    machine.tickets[machine.next_ticket] = {chunk, step};
    machine.worker->pull(machine.next_ticket++, chunk, step);
  }

  // Begins the next step of its computation, if what it reads is there.
  void go_on(uint32_t rank) {
    Machine& machine = machines_[rank];
    if (!machine.computing && machine.step < job_.steps) {
      const ComputeStep& next = job_.compute[machine.at];
      if (std::all_of(next.reads.begin(), next.reads.end(), [&](uint32_t key) { return machine.pulled[key] >= machine.step; })) {
        machine.computing = true;
        agenda_.at(now() + next.seconds, [this, rank] { computed(rank); });
      }
    }
    send(rank);
  }

  void computed(uint32_t rank) {
    Machine& machine = machines_[rank];
    machine.computing = false;
    const bool last = machine.shard + 1 == machine.shards;
    if (last)
      for (uint32_t key : job_.compute[machine.at].makes) push(rank, key, static_cast<uint64_t>(machine.step) + 1);
    if (++machine.at == job_.compute.size()) {
      machine.at = 0;
      if (++machine.shard == machine.shards) {
        machine.shard = 0;
        ++machine.step;
        if (machine.step == kUnmeasured) machine.measured_from = now();
        machine.ended = now();
        links_.measure(rank, machine.step >= kUnmeasured && machine.step < job_.steps);
      }
    }
    go_on(rank);
  }

  double now() const { return agenda_.now(); }

  absl::StatusOr<SimulatedStep> result() const {
    SimulatedStep most;
    const double steps = job_.steps - kUnmeasured;
    double one = 0;
    for (const ComputeStep& step : job_.compute) one += step.seconds;
    for (uint32_t rank = 0; rank < machines_.size(); ++rank) {
      const Machine& machine = machines_[rank];
      if (machine.step < job_.steps) return absl::InternalError("a machine waits for ever");
      const SimulatedLinks::Carried& carried = links_.carried(rank);
      most.seconds = std::max(most.seconds, (machine.ended - machine.measured_from) / steps);
      most.compute = std::max(most.compute, one * static_cast<double>(machine.shards));
      most.communication = std::max({most.communication, carried.out_busy / steps, carried.in_busy / steps});
      most.sent = std::max(most.sent, carried.sent / steps);
      most.received = std::max(most.received, carried.received / steps);
      most.messages = std::max(most.messages, carried.messages / steps);
    }
    return most;
  }

  const SimulatedJob& job_;
  const CommunicationPlan& real_;
  const CommunicationPlan plan_;
  Agenda agenda_;
  SimulatedLinks links_;
  std::vector<Machine> machines_;
  absl::Status failure_;
};

absl::Status check(const std::vector<Key>& keys, const SimulatedJob& job) {
  if (job.steps <= kUnmeasured) return absl::InvalidArgumentError(absl::StrCat("steps: ", kUnmeasured + 1, " at least, not ", job.steps));
  if (job.compute.empty()) return absl::InvalidArgumentError("nothing is computed");
  auto is_rate = [](double rate) { return std::isfinite(rate) && rate > 0; };
  const SimulatedNetwork& network = job.network;
  if (!is_rate(network.bandwidth) || !is_rate(network.processing)) return absl::InvalidArgumentError("a rate is a number above 0");
  if (!std::isfinite(network.latency) || network.latency < 0) return absl::InvalidArgumentError("a latency is a number from 0 on");
  if (network.burst < 0) return absl::InvalidArgumentError("a burst is a number of bytes from 0 on");
  if (network.mtu != 0 && network.mtu < kSmallestPacket)
    return absl::InvalidArgumentError(absl::StrCat("an mtu is ", kSmallestPacket, " bytes at least, not ", network.mtu));
  std::vector<bool> made(keys.size());
  for (const ComputeStep& step : job.compute) {
    for (uint32_t key : step.reads)
      if (key >= keys.size()) return absl::InvalidArgumentError(absl::StrCat("key ", key, " of ", keys.size()));
    for (uint32_t key : step.makes) {
      if (key >= keys.size()) return absl::InvalidArgumentError(absl::StrCat("key ", key, " of ", keys.size()));
      if (made[key]) return absl::InvalidArgumentError(absl::StrCat("key ", key, " is made twice in a step"));
      made[key] = true;
    }
  }
  // A step would wait for ever for a value whose contribution nobody makes.
  for (const ComputeStep& step : job.compute)
    for (uint32_t key : step.reads)
      if (!made[key]) return absl::InvalidArgumentError(absl::StrCat("key ", key, " is read, and nothing makes it"));
  return absl::OkStatus();
}

}  // namespace

double SimulatedStep::hidden() const {
  if (communication <= 0) return 1;
  return std::clamp((compute + communication - seconds) / communication, 0.0, 1.0);
}

absl::StatusOr<SimulatedStep> simulate(const std::vector<Key>& keys, const SimulatedJob& job) {
  if (absl::Status status = check(keys, job); !status.ok()) return status;
  auto plan = make_plan(keys, job.rules);
  if (!plan.ok()) return plan.status();
  return Simulation(*plan, job).run();
}

}  // namespace mxc::kv
