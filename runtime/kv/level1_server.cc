// See level1_server.h.
#include "runtime/kv/level1_server.h"

#include <algorithm>

namespace mxc::kv {

namespace {

WorkerOptions for_machine(WorkerOptions options) {
  options.for_machine = true;
  return options;
}

}  // namespace

Level1Server::Level1Server(const CommunicationPlan& plan, WorkerOptions options)
    : plan_(plan), consistency_(options.consistency), sums_(plan.parts_of_machine(options.rank)), worker_(plan, for_machine(options)) {
  for (uint32_t member : plan.machines.members(options.rank)) parts_[member] = plan.parts_of_worker(member);
  for (uint32_t chunk = 0; chunk < plan.chunks.size(); ++chunk) {
    if (plan.server_for(chunk, options.rank) != plan.level1_of_rank(options.rank)) continue;
    for (const auto& [member, parts] : parts_) chunks_[chunk].finished_from[member] = kNever;
  }
}

absl::Status Level1Server::receive(uint32_t member, const Message& message, std::vector<Reply>& replies) {
  const Header& header = message.header;
  auto found = chunks_.find(header.chunk);
  if (found == chunks_.end()) return broken(message, "it lies on another server");
  if (!parts_.contains(member)) return broken(message, "the worker is on another machine");
  switch (header.type) {
    case Type::push: return push(member, message, replies);
    case Type::probe:
      if (header.part >= parts_[member].size()) return broken(message, "the worker has no such part");
      replies.push_back(reply_to(header, member, state_of(found->second, member, header), header.step));
      return absl::OkStatus();
    case Type::pull:
      if (header.step > found->second.committed + consistency_.window()) return broken(message, "no worker is so far");
      return pull(member, header, replies);
    case Type::finish: {
      uint64_t& from = found->second.finished_from[member];
      from = std::min(from, header.step);
      replies.push_back(reply_to(header, member, Type::finished, header.step));
      advance(header.chunk);
      return absl::OkStatus();
    }
    default: return broken(message, "servers of level 1 take no such messages");
  }
}

// What has become of a contribution.
Type Level1Server::state_of(const ChunkState& chunk, uint32_t member, const Header& header) const {
  if (header.step <= chunk.committed) return Type::committed;
  const auto step = chunk.steps.find(header.step);
  const bool kept = step != chunk.steps.end() && step->second.contains({member, header.part});
  return kept || header.step <= chunk.sent ? Type::received : Type::missing;
}

absl::Status Level1Server::push(uint32_t member, const Message& message, std::vector<Reply>& replies) {
  const Header& header = message.header;
  ChunkState& chunk = chunks_.at(header.chunk);
  if (header.part >= parts_[member].size()) return broken(message, "the worker has no such part");
  if (header.step > chunk.committed + consistency_.window()) return broken(message, "no worker may be so far ahead");
  if (header.step >= chunk.finished_from[member]) return broken(message, "the worker has finished");
  if (header.codec != 0) return broken(message, "it is not compressed as the plan says");
  const Type state = state_of(chunk, member, header);
  replies.push_back(reply_to(header, member, state == Type::missing ? Type::received : state, header.step));
  if (state != Type::missing) return absl::OkStatus();
  Frame bytes = message.frame != nullptr ? *message.frame : Frame(std::string(message.payload));
  kept_bytes_ += static_cast<int64_t>(bytes.size());
  chunk.steps[header.step][{member, header.part}] = {std::move(bytes), header.weight};
  advance(header.chunk);
  return absl::OkStatus();
}

// Each process of the machine has contributed or finished, and one has contributed.
bool Level1Server::is_there(const ChunkState& chunk, uint64_t step) const {
  const auto found = chunk.steps.find(step);
  if (found == chunk.steps.end()) return false;
  for (const auto& [member, parts] : parts_) {
    if (chunk.finished_from.at(member) <= step) continue;
    for (uint32_t part = 0; part < parts.size(); ++part)
      if (!found->second.contains({member, part})) return false;
  }
  return true;
}

// Contributes to level 2 what can be.
void Level1Server::advance(uint32_t number) {
  ChunkState& chunk = chunks_.at(number);
  while (is_there(chunk, chunk.sent + 1)) {
    auto step = chunk.steps.extract(++chunk.sent);
    contribute(number, chunk.sent, std::move(step.mapped()));
  }
  uint64_t last = 0;
  for (const auto& [member, from] : chunk.finished_from) last = std::max(last, from);
  if (last != chunk.sent + 1 || std::exchange(chunk.finished, true)) return;
  worker_.finish(number, last);
}

void Level1Server::contribute(uint32_t number, uint64_t step, Contributions contributions) {
  Summands summands;
  for (const auto& [member, parts] : parts_) {
    for (uint32_t part = 0; part < parts.size(); ++part) {
      const auto found = contributions.find({member, part});
      summands.add(parts[part], found == contributions.end() ? nullptr : &found->second);
      kept_bytes_ -= found == contributions.end() ? 0 : static_cast<int64_t>(found->second.bytes.size());
    }
  }
  for (uint32_t part = 0; part < sums_.size(); ++part) {
    const uint64_t weight = summands.weight(sums_[part]);
    std::string sum(weight == 0 ? 0 : plan_.chunks[number].bytes, '\0');
    if (weight > 0) summands.sum(sums_[part], plan_.chunks[number].dtype, sum);
    worker_.push(number, part, step, static_cast<uint32_t>(weight), std::move(sum), plan_.chunks[number].priority);
  }
}

absl::Status Level1Server::pull(uint32_t member, const Header& header, std::vector<Reply>& replies) {
  Waiting& waiting = chunks_.at(header.chunk).pulls[member];
  if (header.sequence >= waiting.sequence) waiting = {header.step, header.sequence};
  answer_pulls(header.chunk, replies);
  ask_for_value(header.chunk);
  return absl::OkStatus();
}

void Level1Server::answer_pulls(uint32_t number, std::vector<Reply>& replies) {
  ChunkState& chunk = chunks_.at(number);
  std::erase_if(chunk.pulls, [&](const auto& pull) {
    if (!chunk.version.has_value() || *chunk.version < pull.second.version) return false;
    Reply made{pull.first, {}, chunk.value.frame, chunk.value};
    made.header.type = Type::value;
    made.header.chunk = number;
    made.header.step = *chunk.version;
    made.header.sequence = pull.second.sequence;
    replies.push_back(made);
    return true;
  });
}

void Level1Server::ask_for_value(uint32_t number) {
  ChunkState& chunk = chunks_.at(number);
  if (chunk.pulls.empty()) return;
  uint64_t lowest = kNever;
  for (const auto& [member, waiting] : chunk.pulls) lowest = std::min(lowest, waiting.version);
  if (chunk.asked.has_value() && chunk.asked->version <= lowest) return;
  if (chunk.asked.has_value()) worker_.give_up(chunk.asked->ticket, number);
  chunk.asked = {next_ticket_++, lowest};
  worker_.pull(chunk.asked->ticket, number, lowest + consistency_.staleness);  // whoever has made so many steps gets that version
}

absl::Status Level1Server::receive_from_level2(uint32_t server, const Message& message, Time now, std::vector<Reply>& replies) {
  std::vector<Pulled> pulled;
  if (absl::Status status = worker_.receive(server, message, now, pulled); !status.ok()) return status;
  if (message.header.type == Type::committed && chunks_.contains(message.header.chunk)) tell_committed(message.header.chunk, replies);
  for (const Pulled& one : pulled) {
    ChunkState& chunk = chunks_.at(one.chunk);
    chunk.asked.reset();
    chunk.version = one.version;
    chunk.value = Summed(message.frame != nullptr ? *message.frame : Frame(std::string(one.value)));
    answer_pulls(one.chunk, replies);
    ask_for_value(one.chunk);
  }
  return absl::OkStatus();
}

void Level1Server::tell_committed(uint32_t number, std::vector<Reply>& replies) {
  ChunkState& chunk = chunks_.at(number);
  if (worker_.committed(number) <= chunk.committed) return;
  chunk.committed = worker_.committed(number);
  Header header;
  header.chunk = number;
  for (const auto& [member, parts] : parts_) replies.push_back(reply_to(header, member, Type::committed, chunk.committed));
}

}  // namespace mxc::kv
