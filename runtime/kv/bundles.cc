// See bundles.h.
#include "runtime/kv/bundles.h"

#include <algorithm>
#include <cstring>

#include "runtime/core/plan_sizes.h"

namespace mxc::kv {

std::optional<BundledPushes::Whole> BundledPushes::add(uint32_t number, const Piece& piece, uint64_t step, const std::vector<PartOfKey>& parts,
                                                       int32_t priority) {
  const Chunk& chunk = plan_.chunks[number];
  const bool packs = chunk.packed != 0;
  const int64_t width = core::dtype_bytes(chunk.dtype);
  const auto size_of = [&](int64_t elements) {
    return static_cast<size_t>(packs ? packed_bytes(plan_.rules.compression, chunk.dtype, elements) : elements * width);
  };
  Whole& whole = begun_[{number, step}];
  if (whole.pieces == 0) {
    whole.bytes.resize(parts.size());
    whole.weights.resize(parts.size());
    whole.priority = priority;
  }
  for (size_t part = 0; part < parts.size(); ++part) {
    whole.weights[part] = parts[part].weight;
    if (parts[part].weight == 0) continue;
    const size_t size = size_of(piece.count);
    if (chunk.pieces.size() == 1) {
      if (size > 0) whole.bytes[part].assign(parts[part].bytes + size_of(piece.first), size);
      continue;
    }
    whole.bytes[part].resize(packs ? chunk.packed : chunk.bytes);
    if (size > 0) std::memcpy(whole.bytes[part].data() + (packs ? piece.packed_at : piece.at), parts[part].bytes + size_of(piece.first), size);
  }
  whole.priority = std::max(whole.priority, priority);
  if (++whole.pieces < chunk.pieces.size()) return std::nullopt;
  return std::move(begun_.extract({number, step}).mapped());
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
