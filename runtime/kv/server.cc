// See server.h.
#include "runtime/kv/server.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mxc::kv {

Reply reply_to(const Header& header, uint32_t worker, Type type, uint64_t step) {
  Reply made{worker, {}, {}};
  made.header.type = type;
  made.header.chunk = header.chunk;
  made.header.part = header.part;
  made.header.step = step;
  return made;
}

absl::Status broken(const Message& message, const char* what) {
  return absl::InvalidArgumentError(absl::StrCat(name_of(message.header.type), " of chunk ", message.header.chunk, ": ", what));
}

namespace {

// All, so that those who contribute nothing have numbers, too.
std::shared_ptr<std::vector<std::vector<Node>>> parts_of_speakers(const CommunicationPlan& plan, uint32_t chunk) {
  auto parts = std::make_shared<std::vector<std::vector<Node>>>();
  for (uint32_t speaker = 0; speaker < plan.speakers(); ++speaker) parts->push_back(plan.parts_of_speaker(chunk, speaker));
  return parts;
}

}  // namespace

Server::Server(const CommunicationPlan& plan, uint32_t number, const Consistency& consistency, Update update, ServerState* state)
    : plan_(plan), consistency_(consistency), update_(std::move(update)), state_(state) {
  std::shared_ptr<const Parts> parts;
  for (uint32_t chunk = 0; chunk < plan.chunks.size(); ++chunk) {
    if (plan.chunks[chunk].server != number) continue;
    ChunkState& state = chunks_.try_emplace(chunk, plan.chunks[chunk].bytes).first->second;
    if (parts == nullptr || !plan.machines.empty()) parts = parts_of_speakers(plan, chunk);
    state.parts = parts;
    state.is_sum = std::ranges::all_of(plan.chunks[chunk].pieces, [&](const Piece& piece) { return plan.keys[piece.key].is_sum; });
    for (const std::vector<Node>& of_speaker : *parts) state.finished_from.push_back(of_speaker.empty() ? 0 : kNever);
    state.applied.assign(parts->size(), 0);
    for (uint32_t beside : plan.chunks[chunk].beside) main_of_[beside] = chunk;
  }
  if (state_ != nullptr) restore();
}

void Server::restore() {
  for (auto& [number, chunk] : chunks_) {
    if (auto finished = state_->finished(number)) chunk.finished_from = *std::move(finished);
    const std::optional<ServerState::Kept> kept = state_->newest(number);
    if (!kept.has_value()) continue;
    chunk.initialised = kept->initialised;
    std::ranges::copy(kept->value, chunk.value.changed().begin());
    // Of chunks that lie beside others there is no step.
    if (state_->is_main(number)) chunk.version = kept->version;
  }
}

// The chunk whose steps are a chunk's.
uint32_t Server::counted_by(uint32_t number) const {
  auto found = main_of_.find(number);
  return found == main_of_.end() ? number : found->second;
}

void Server::keep(uint32_t number) {
  if (state_ == nullptr) return;
  state_->keep(number, [&](uint32_t member) {
    const ChunkState& chunk = chunks_.at(member);
    return ServerState::Kept{chunk.initialised, chunk.version, chunk.value.bytes()};
  });
}

void Server::returned(uint32_t worker) {
  for (auto& [number, chunk] : chunks_) chunk.pulls.erase(worker);
}

absl::Status Server::receive(uint32_t worker, const Message& message, std::vector<Reply>& replies) {
  const Header& header = message.header;
  auto found = chunks_.find(header.chunk);
  if (found == chunks_.end()) return broken(message, "it lies on another server");
  ChunkState& chunk = found->second;
  if (worker >= chunk.parts->size()) return broken(message, "there is no such worker");
  switch (header.type) {
    case Type::init: return init(worker, message, replies);
    case Type::push: {
      if (absl::Status status = push(worker, message, replies); !status.ok()) return status;
      return advance(header.chunk, worker, replies);
    }
    case Type::probe: {
      if (header.part >= (*chunk.parts)[worker].size()) return broken(message, "the worker has no such part");
      auto step = chunk.steps.find(header.step);
      const bool kept = step != chunk.steps.end() && step->second.contributions.contains({worker, header.part});
      const Type answer = header.step <= committed_of(chunk, worker) ? Type::committed : kept ? Type::received : Type::missing;
      replies.push_back(reply_to(header, worker, answer, header.step));
      return absl::OkStatus();
    }
    case Type::pull: {
      if (header.step > chunks_.at(counted_by(header.chunk)).version + consistency_.window() && !consistency_.is_async())
        return broken(message, "no worker is so far");
      Waiting& waiting = chunk.pulls[worker];
      if (header.sequence >= waiting.sequence) waiting = {header.step, header.sequence, header.weight == 1};
      answer_pull(header.chunk, worker, replies);
      return absl::OkStatus();
    }
    case Type::ask: {
      Reply made = reply_to(header, worker, Type::version, chunk.version);
      made.header.sequence = header.sequence;
      replies.push_back(made);
      return absl::OkStatus();
    }
    case Type::finish:
      finish(worker, header);
      replies.push_back(reply_to(header, worker, Type::finished, header.step));
      return advance(counted_by(header.chunk), worker, replies);
    default: return broken(message, "servers take no such messages");
  }
}

absl::Status Server::init(uint32_t worker, const Message& message, std::vector<Reply>& replies) {
  const uint32_t number = message.header.chunk;
  ChunkState& chunk = chunks_.at(number);
  replies.push_back(reply_to(message.header, worker, Type::initialised, 0));
  if (chunk.initialised) return absl::OkStatus();
  std::ranges::copy(message.payload, chunk.value.changed().begin());
  chunk.initialised = true;
  keep(number);
  // What has come before it.
  for (uint32_t any = 0; any < chunk.parts->size(); ++any)
    if (absl::Status status = advance(counted_by(number), any, replies); !status.ok()) return status;
  answer_pulls(number, replies);
  return absl::OkStatus();
}

void Server::finish(uint32_t worker, const Header& header) {
  ChunkState& chunk = chunks_.at(header.chunk);
  uint64_t& from = chunk.finished_from[worker];
  if (header.step >= from) return;
  for (auto step = chunk.steps.lower_bound(header.step); step != chunk.steps.lower_bound(from); ++step)
    if (!all_there(chunk, worker, step->first)) --step->second.awaited;
  from = header.step;
  if (state_ != nullptr) state_->keep_finished(header.chunk, chunk.finished_from);
}

bool Server::is_ready(uint32_t number) const {
  const std::vector<uint32_t>& beside = plan_.chunks[number].beside;
  return chunks_.at(number).initialised && std::all_of(beside.begin(), beside.end(), [&](uint32_t chunk) { return chunks_.at(chunk).initialised; });
}

// The last step of the worker's that is in the value.
uint64_t Server::committed_of(const ChunkState& chunk, uint32_t worker) const {
  return consistency_.is_async() ? chunk.applied[worker] : chunk.version;
}

absl::Status Server::push(uint32_t worker, const Message& message, std::vector<Reply>& replies) {
  const Header& header = message.header;
  ChunkState& chunk = chunks_.at(header.chunk);
  if (header.part >= (*chunk.parts)[worker].size()) return broken(message, "the worker has no such part");
  const uint64_t committed = committed_of(chunk, worker);
  if (header.step <= committed) {
    replies.push_back(reply_to(header, worker, Type::committed, header.step));
    return absl::OkStatus();
  }
  if (header.step > committed + consistency_.window()) return broken(message, "no worker may be so far ahead");
  if (header.step >= chunk.finished_from[worker]) return broken(message, "the worker has finished");
  const Chunk& planned = plan_.chunks[header.chunk];
  Frame bytes;
  const bool empty = header.weight == 0 && message.payload.empty();
  if (!empty && header.codec != (planned.packed == 0 ? 0 : 1)) return broken(message, "it is not compressed as the plan says");
  if (header.codec == 0) {
    bytes = message.frame != nullptr ? *message.frame : Frame(std::string(message.payload));
  } else {
    std::string elements(planned.bytes, '\0');
    if (!plan_.unpack(header.chunk, message.payload, elements)) return broken(message, "its compressed elements cannot be");
    bytes = std::move(elements);
  }
  Collected& step = collected(chunk, header.step);
  auto [place, fresh] = step.contributions.try_emplace({worker, header.part});
  if (fresh) {
    kept_bytes_ += static_cast<int64_t>(bytes.size());
    place->second = {std::move(bytes), header.weight};
    if (all_there(chunk, worker, header.step)) --step.awaited;
  }
  replies.push_back(reply_to(header, worker, Type::received, header.step));
  return absl::OkStatus();
}

Server::Collected& Server::collected(ChunkState& chunk, uint64_t step) {
  auto [place, fresh] = chunk.steps.try_emplace(step);
  if (fresh) place->second.awaited = static_cast<uint32_t>(std::ranges::count_if(chunk.finished_from, [step](uint64_t from) { return from > step; }));
  return place->second;
}

bool Server::all_there(const ChunkState& chunk, uint32_t worker, uint64_t step) {
  auto found = chunk.steps.find(step);
  if (found == chunk.steps.end()) return false;
  for (uint32_t part = 0; part < (*chunk.parts)[worker].size(); ++part) {
    if (!found->second.contributions.contains({worker, part})) return false;
  }
  return true;
}

// Of all workers together: each has contributed or finished, and one has contributed.
bool Server::next_step_is_there(const ChunkState& chunk) const {
  auto found = chunk.steps.find(chunk.version + 1);
  return found != chunk.steps.end() && found->second.awaited == 0;
}

// Commits what can be since this worker was heard of, and answers what can be answered after it.
absl::Status Server::advance(uint32_t number, uint32_t worker, std::vector<Reply>& replies) {
  if (!is_ready(number)) return absl::OkStatus();
  return consistency_.is_async() ? advance_alone(number, worker, replies) : advance_all(number, replies);
}

void Server::add_parts(ChunkState& chunk, uint64_t step, uint32_t worker, std::vector<std::pair<Node, Contribution*>>& to) {
  const std::vector<Node>& parts = (*chunk.parts)[worker];
  Contributions& contributions = chunk.steps.at(step).contributions;
  for (uint32_t part = 0; part < parts.size(); ++part) {
    auto found = contributions.find({worker, part});
    if (found != contributions.end()) to.push_back({parts[part], &found->second});
  }
}

// Steps of all workers together.
absl::Status Server::advance_all(uint32_t number, std::vector<Reply>& replies) {
  ChunkState& chunk = chunks_.at(number);
  if (!next_step_is_there(chunk)) return absl::OkStatus();
  Header header;
  header.chunk = number;
  const auto workers = static_cast<uint32_t>(chunk.parts->size());
  do {
    const uint64_t step = chunk.version + 1;
    std::vector<std::pair<Node, Contribution*>> contributions;
    for (uint32_t worker = 0; worker < workers; ++worker) add_parts(chunk, step, worker, contributions);
    if (absl::Status status = commit(number, step, std::move(contributions)); !status.ok()) return status;
    for (uint32_t worker = 0; worker < workers; ++worker) {
      if (!(*chunk.parts)[worker].empty() && all_there(chunk, worker, step)) replies.push_back(reply_to(header, worker, Type::committed, step));
    }
    forget(chunk, step, 0, true);
  } while (next_step_is_there(chunk));
  answer_pulls(number, replies);
  for (uint32_t beside : plan_.chunks[number].beside) answer_pulls(beside, replies);
  return absl::OkStatus();
}

// Steps of one worker, in async.
absl::Status Server::advance_alone(uint32_t number, uint32_t worker, std::vector<Reply>& replies) {
  ChunkState& chunk = chunks_.at(number);
  Header header;
  header.chunk = number;
  for (uint64_t step; all_there(chunk, worker, step = chunk.applied[worker] + 1);) {
    std::vector<std::pair<Node, Contribution*>> contributions;
    add_parts(chunk, step, worker, contributions);
    if (absl::Status status = commit(number, chunk.version + 1, std::move(contributions)); !status.ok()) return status;
    chunk.applied[worker] = step;
    replies.push_back(reply_to(header, worker, Type::committed, step));
    forget(chunk, step, worker, false);
  }
  answer_pull(number, worker, replies);
  for (uint32_t beside : plan_.chunks[number].beside) answer_pull(beside, worker, replies);
  return absl::OkStatus();
}

absl::Status Server::update(uint32_t number, uint64_t step, const Summands& summands, uint64_t weight) {
  ChunkState& chunk = chunks_.at(number);
  const Chunk& planned = plan_.chunks[number];
  const Node all = {0, plan_.rules.shards};
  if (chunk.is_sum) {
    summands.sum(all, planned.dtype, chunk.value.replaced());
    return absl::OkStatus();
  }
  sum_.resize(std::max(sum_.size(), size_t{planned.bytes}));
  const std::span<char> sum(sum_.data(), planned.bytes);
  summands.sum(all, planned.dtype, sum);
  Step made{number, step, weight, sum, chunk.value.changed()};
  for (uint32_t beside : planned.beside) made.beside.push_back(chunks_.at(beside).value.changed());
  made.difference = &chunk.difference;
  return update_(made);
}

absl::Status Server::commit(uint32_t number, uint64_t step, std::vector<std::pair<Node, Contribution*>> contributions) {
  ChunkState& chunk = chunks_.at(number);
  Summands summands;
  // Parts of workers that contribute nothing are known too.
  for (const std::vector<Node>& parts : *chunk.parts)
    for (Node part : parts) summands.add(part, nullptr);
  for (auto& [part, contribution] : contributions) summands.add(part, contribution);
  chunk.difference.clear();
  if (const uint64_t weight = summands.weight({0, plan_.rules.shards}); weight > 0) {
    if (absl::Status status = update(number, step, summands, weight); !status.ok()) return status;
  }
  chunk.version = step;
  keep(number);
  return absl::OkStatus();
}

void Server::forget(ChunkState& chunk, uint64_t step, uint32_t worker, bool all) {
  auto found = chunk.steps.find(step);
  std::erase_if(found->second.contributions, [&](const auto& entry) {
    const bool gone = all || entry.first.first == worker;
    kept_bytes_ -= gone ? static_cast<int64_t>(entry.second.bytes.size()) : 0;
    return gone;
  });
  if (found->second.contributions.empty()) chunk.steps.erase(found);
}

// Answers a pull if its version is there. False: it is not.
bool Server::answer(uint32_t number, uint32_t worker, const Waiting& waiting, std::vector<Reply>& replies) {
  ChunkState& chunk = chunks_.at(number);
  const ChunkState& counted = chunks_.at(counted_by(number));
  if (!chunk.initialised || committed_of(counted, worker) < waiting.step) return false;
  const bool shorter = waiting.has_before && chunk.version == waiting.step && !chunk.difference.empty() &&
                       chunk.difference.size() == plan_.chunks[number].packed;
  Reply made{worker, {}, chunk.difference};
  made.header.type = Type::value;
  made.header.codec = shorter ? 1 : 0;
  made.header.chunk = number;
  made.header.step = counted.version;
  if (state_ != nullptr && consistency_ == Consistency() && waiting.step + 1 == counted.version) {
    if (const auto before = state_->before(number); before.has_value() && before->version == waiting.step) {
      made.payload = before->value;
      made.header.step = before->version;
    }
  }
  if (made.header.codec == 0 && made.header.step == counted.version) {
    made.kept = chunk.value.told();
    made.payload = made.kept.frame;
  }
  made.header.sequence = waiting.sequence;
  replies.push_back(made);
  return true;
}

void Server::answer_pull(uint32_t number, uint32_t worker, std::vector<Reply>& replies) {
  auto& pulls = chunks_.at(number).pulls;
  auto pull = pulls.find(worker);
  if (pull != pulls.end() && answer(number, worker, pull->second, replies)) pulls.erase(pull);
}

void Server::answer_pulls(uint32_t number, std::vector<Reply>& replies) {
  std::erase_if(chunks_.at(number).pulls, [&](const auto& pull) { return answer(number, pull.first, pull.second, replies); });
}

std::vector<uint32_t> Server::awaited(uint32_t number) const {
  const ChunkState& chunk = chunks_.at(number);
  std::vector<uint32_t> ranks;
  for (uint32_t worker = 0; worker < chunk.parts->size(); ++worker) {
    const uint64_t step = committed_of(chunk, worker) + 1;
    if (chunk.finished_from[worker] > step && !all_there(chunk, worker, step)) ranks.push_back(worker);
  }
  return ranks;
}

}  // namespace mxc::kv
