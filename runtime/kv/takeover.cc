// See takeover.h.
#include "runtime/kv/takeover.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/core/plan_sizes.h"

namespace mxc::kv {

namespace {

bool begins_anew(const CommunicationPlan& plan, uint32_t chunk) { return plan.keys[plan.chunks[chunk].pieces.front().key].begins_anew; }

// Copies those elements that both pieces, of one key, have.
void copy_common(const Piece& from, std::string_view source, const Piece& to, std::string& target, int64_t width) {
  const int64_t first = std::max(from.first, to.first), end = std::min(from.first + from.count, to.first + to.count);
  if (first >= end) return;
  std::memcpy(target.data() + to.at + (first - to.first) * width, source.data() + from.at + (first - from.first) * width,
              static_cast<size_t>((end - first) * width));
}

}  // namespace

absl::StatusOr<std::optional<Takeover>> Takeover::read(const Predecessors& before, uint64_t job, const CommunicationPlan& now) {
  PlanRules rules = now.rules;
  rules.workers = before.size;
  rules.servers = before.servers;
  absl::StatusOr<CommunicationPlan> plan = make_plan(now.keys, rules);
  if (!plan.ok()) return plan.status();
  Takeover made(std::make_unique<CommunicationPlan>(*std::move(plan)), now);
  for (uint32_t server = 0; server < before.servers; ++server) {
    auto state = ServerState::read(state_path(before.state_dir, made.before_->rank_of_server(server)), job, *made.before_, server);
    if (!state.ok()) return state.status();
    made.states_.push_back(*std::move(state));
  }
  const absl::StatusOr<bool> found = made.find_step();
  if (!found.ok()) return found.status();
  return *found ? std::optional<Takeover>(std::move(made)) : std::nullopt;
}

// False: there is none.
absl::StatusOr<bool> Takeover::find_step() {
  step_ = UINT64_MAX;
  for (uint32_t chunk = 0; chunk < before_->chunks.size(); ++chunk) {
    if (begins_anew(*before_, chunk)) continue;
    const auto newest = states_[before_->chunks[chunk].server]->newest(chunk);
    if (!newest.has_value() || !newest->initialised) return false;
    step_ = std::min(step_, newest->version);
  }
  for (uint32_t chunk = 0; chunk < before_->chunks.size(); ++chunk) {
    if (!begins_anew(*before_, chunk) && value_before(chunk).data() == nullptr)
      return absl::InternalError(absl::StrCat("the state of rank ", before_->rank_of_server(before_->chunks[chunk].server), " has no value of step ", step_, ", the last that all have"));
  }
  return true;
}

std::string_view Takeover::value_before(uint32_t chunk) const {
  const ServerState& state = *states_[before_->chunks[chunk].server];
  for (const auto& kept : {state.newest(chunk), state.before(chunk)})
    if (kept.has_value() && kept->version == step_) return kept->value;
  return {};
}

bool Takeover::has(uint32_t chunk) const { return !begins_anew(*now_, chunk); }

std::string Takeover::value(uint32_t chunk) const {
  std::string value(now_->chunks[chunk].bytes, '\0');
  for (const Piece& piece : now_->chunks[chunk].pieces) {
    const int64_t width = core::dtype_bytes(now_->keys[piece.key].dtype);
    for (uint32_t source : before_->of_key[piece.key]) {
      for (const Piece& from : before_->chunks[source].pieces)
        if (from.key == piece.key) copy_common(from, value_before(source), piece, value, width);
    }
  }
  return value;
}

}  // namespace mxc::kv
