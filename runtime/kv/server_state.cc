// See server_state.h.
#include "runtime/kv/server_state.h"

#include <cstring>
#include <utility>

namespace mxc::kv {

absl::StatusOr<std::unique_ptr<ServerState>> ServerState::open(const std::string& path, uint64_t job, const CommunicationPlan& plan,
                                                               uint32_t server) {
  std::unique_ptr<ServerState> state(new ServerState(plan));
  const auto chunks = static_cast<uint32_t>(plan.chunks.size());
  state->places_.resize(chunks);
  state->members_.resize(chunks);
  for (uint32_t chunk = 0; chunk < chunks; ++chunk) state->places_[chunk].group = chunk;
  for (uint32_t chunk = 0; chunk < chunks; ++chunk)
    for (uint32_t beside : plan.chunks[chunk].beside) state->places_[beside].group = chunk;
  std::vector<uint32_t> sizes;
  for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
    if (plan.chunks[chunk].server != server) continue;
    state->places_[chunk].finished = static_cast<uint32_t>(sizes.size());
    sizes.push_back(static_cast<uint32_t>(plan.rules.workers) * sizeof(uint64_t));
    if (state->places_[chunk].group != chunk) continue;
    std::vector<uint32_t>& members = state->members_[chunk] = plan.chunks[chunk].beside;
    members.insert(members.begin(), chunk);
    size_t at = members.size();
    for (size_t number = 0; number < members.size(); ++number) {
      Place& place = state->places_[members[number]];
      place.values = static_cast<uint32_t>(sizes.size());
      place.at = at;
      place.number = number;
      at += plan.chunks[members[number]].bytes;
    }
    sizes.push_back(static_cast<uint32_t>(at));
  }
  auto file = StateFile::open(path, {job, plan.hash, server}, std::move(sizes));
  if (!file.ok()) return file.status();
  state->file_ = *std::move(file);
  return state;
}

std::optional<ServerState::Kept> ServerState::kept(uint32_t chunk, const std::optional<StateFile::Copy>& copy) const {
  if (!copy.has_value()) return std::nullopt;
  const Place& place = places_[chunk];
  return Kept{copy->bytes[place.number] != 0, copy->version, copy->bytes.substr(place.at, plan_.chunks[chunk].bytes)};
}

void ServerState::keep(uint32_t chunk, const std::function<Kept(uint32_t)>& now) {
  const Place& place = places_[chunk];
  std::string flags;
  std::vector<std::string_view> pieces = {{}};
  for (uint32_t member : members_[place.group]) {
    const Kept kept = now(member);
    flags.push_back(kept.initialised ? '\1' : '\0');
    pieces.push_back(kept.value);
  }
  pieces[0] = flags;
  file_->write(place.values, now(place.group).version, pieces);
}

std::optional<std::vector<uint64_t>> ServerState::finished(uint32_t chunk) const {
  const std::optional<StateFile::Copy> copy = file_->newest(places_[chunk].finished);
  if (!copy.has_value()) return std::nullopt;
  std::vector<uint64_t> from(copy->bytes.size() / sizeof(uint64_t));
  std::memcpy(from.data(), copy->bytes.data(), copy->bytes.size());
  return from;
}

void ServerState::keep_finished(uint32_t chunk, const std::vector<uint64_t>& from) {
  const std::string_view bytes(reinterpret_cast<const char*>(from.data()), from.size() * sizeof(uint64_t));
  file_->write(places_[chunk].finished, 0, {{bytes}});
}

}  // namespace mxc::kv
