// See bundles.h.
#include "runtime/kv/bundles.h"

#include <algorithm>

#include "runtime/core/plan_sizes.h"

namespace mxc::kv {

std::optional<BundledPushes::Whole> BundledPushes::add(uint32_t number, const Piece& piece, uint64_t step, const std::vector<PartOfKey>& parts,
                                                       int32_t priority, bool lends) {
  const Chunk& chunk = plan_.chunks[number];
  const bool packs = chunk.packed != 0;
  const int64_t width = core::dtype_bytes(chunk.dtype);
  const auto size_of = [&](int64_t elements) {
    return static_cast<size_t>(packs ? packed_bytes(plan_.rules.compression, chunk.dtype, elements) : elements * width);
  };
  const auto bytes_of = [&](const PartOfKey& part) { return std::string_view(part.bytes + size_of(piece.first), size_of(piece.count)); };
  if (chunk.pieces.size() == 1) {
    Whole whole;
    whole.priority = priority;
    for (const PartOfKey& part : parts) {
      const bool is_nothing = part.weight == 0 || piece.count == 0;
      whole.weights.push_back(part.weight);
      whole.bytes.push_back(is_nothing ? Frame() : lends && part.lent != nullptr ? Frame(bytes_of(part), part.lent) : Frame(std::string(bytes_of(part))));
    }
    return whole;
  }
  Begun& begun = begun_[{number, step}];
  if (begun.pieces == 0) {
    begun.bytes.resize(parts.size());
    begun.whole.weights.resize(parts.size());
    begun.whole.priority = priority;
  }
  for (size_t part = 0; part < parts.size(); ++part) {
    begun.whole.weights[part] = parts[part].weight;
    if (parts[part].weight == 0) continue;
    begun.bytes[part].resize(packs ? chunk.packed : chunk.bytes);
    if (piece.count > 0) std::ranges::copy(bytes_of(parts[part]), begun.bytes[part].begin() + (packs ? piece.packed_at : piece.at));
  }
  begun.whole.priority = std::max(begun.whole.priority, priority);
  if (++begun.pieces < chunk.pieces.size()) return std::nullopt;
  Begun done = std::move(begun_.extract({number, step}).mapped());
  for (std::string& bytes : done.bytes) done.whole.bytes.emplace_back(std::move(bytes));
  return std::move(done.whole);
}

BundledPulls::Answer BundledPulls::want(uint32_t chunk, uint32_t key, uint64_t step, uint64_t ticket) {
  State& state = chunks_[chunk];
  auto served = state.served.find(key);
  const bool again = served != state.served.end() && served->second >= step;
  if (state.there && state.step >= step && !again) {
    state.served[key] = step;
    return {&state.value, state.version, 0, false};
  }
  state.served[key] = step;
  // One that is under way for an earlier step might bring too little.
  if (state.ticket != 0 && state.awaited >= step) return {nullptr, 0, state.ticket, false};
  state.awaited = step;
  state.ticket = ticket;
  return {nullptr, 0, ticket, true};
}

void BundledPulls::arrived(uint32_t chunk, uint64_t version, std::string_view value) {
  State& state = chunks_[chunk];
  state.there = true;
  state.step = state.awaited;
  state.version = version;
  state.value = value;
  state.ticket = 0;
}

}  // namespace mxc::kv
