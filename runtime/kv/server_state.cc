// See server_state.h.
#include "runtime/kv/server_state.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/kv/takeover.h"

namespace mxc::kv {

std::string state_path(const std::string& folder, uint32_t rank) { return absl::StrCat(folder, "/server-", rank, ".state"); }

absl::StatusOr<std::unique_ptr<ServerState>> ServerState::open(const std::string& path, uint64_t job, const CommunicationPlan& plan, uint32_t server,
                                                               const Takeover* before) {
  std::unique_ptr<ServerState> state(new ServerState(plan));
  std::vector<uint32_t> sizes = state->lay_out(server);
  auto file = StateFile::open(path, {job, plan.hash, plan.rank_of_server(server)}, std::move(sizes), [&](StateFile& fresh) {
    if (before != nullptr) state->begin_with(fresh, *before);
  });
  if (!file.ok()) return file.status();
  state->file_ = *std::move(file);
  return state;
}

absl::StatusOr<std::unique_ptr<ServerState>> ServerState::read(const std::string& path, uint64_t job, const CommunicationPlan& plan, uint32_t server) {
  std::unique_ptr<ServerState> state(new ServerState(plan));
  std::vector<uint32_t> sizes = state->lay_out(server);
  auto file = StateFile::read(path, {job, plan.hash, plan.rank_of_server(server)}, std::move(sizes));
  if (!file.ok()) return file.status();
  state->file_ = *std::move(file);
  return state;
}

// Which records there are, with the places of chunks in them. Returns their sizes.
std::vector<uint32_t> ServerState::lay_out(uint32_t server) {
  const auto chunks = static_cast<uint32_t>(plan_.chunks.size());
  places_.resize(chunks);
  members_.resize(chunks);
  for (uint32_t chunk = 0; chunk < chunks; ++chunk) places_[chunk].group = chunk;
  for (uint32_t chunk = 0; chunk < chunks; ++chunk)
    for (uint32_t beside : plan_.chunks[chunk].beside) places_[beside].group = chunk;
  std::vector<uint32_t> sizes;
  for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
    if (plan_.chunks[chunk].server != server) continue;
    places_[chunk].finished = static_cast<uint32_t>(sizes.size());
    sizes.push_back(static_cast<uint32_t>(plan_.rules.workers) * sizeof(uint64_t));
    if (places_[chunk].group != chunk) continue;
    std::vector<uint32_t>& members = members_[chunk] = plan_.chunks[chunk].beside;
    members.insert(members.begin(), chunk);
    size_t at = members.size();
    for (size_t number = 0; number < members.size(); ++number) {
      Place& place = places_[members[number]];
      place.values = static_cast<uint32_t>(sizes.size());
      place.at = at;
      place.number = number;
      at += plan_.chunks[members[number]].bytes;
    }
    sizes.push_back(static_cast<uint32_t>(at));
  }
  return sizes;
}

void ServerState::begin_with(StateFile& file, const Takeover& before) const {
  for (uint32_t chunk = 0; chunk < members_.size(); ++chunk) {
    if (members_[chunk].empty() || !before.has(chunk)) continue;
    std::vector<std::string> values;
    values.reserve(members_[chunk].size());  // they stay where they are
    write(file, chunk, [&](uint32_t member) { return Kept{true, before.step(), values.emplace_back(before.value(member))}; });
  }
}

std::optional<ServerState::Kept> ServerState::kept(uint32_t chunk, const std::optional<StateFile::Copy>& copy) const {
  if (!copy.has_value()) return std::nullopt;
  const Place& place = places_[chunk];
  return Kept{copy->bytes[place.number] != 0, copy->version, copy->bytes.substr(place.at, plan_.chunks[chunk].bytes)};
}

void ServerState::keep(uint32_t chunk, const std::function<Kept(uint32_t)>& now) { write(*file_, chunk, now); }

void ServerState::write(StateFile& file, uint32_t chunk, const std::function<Kept(uint32_t)>& now) const {
  const Place& place = places_[chunk];
  std::string flags;
  std::vector<std::string_view> pieces = {{}};
  uint64_t version = 0;
  for (uint32_t member : members_[place.group]) {
    const Kept kept = now(member);
    if (member == place.group) version = kept.version;
    flags.push_back(kept.initialised ? '\1' : '\0');
    pieces.push_back(kept.value);
  }
  pieces[0] = flags;
  file.write(place.values, version, pieces);
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
