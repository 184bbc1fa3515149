// See plan.h.
#include "runtime/kv/plan.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/core/fnv.h"
#include "runtime/core/plan_sizes.h"
#include "runtime/core/plan_view.h"
#include "runtime/io/printable.h"
#include "runtime/kv/add.h"
#include "runtime/kv/tree.h"

namespace mxc::kv {

namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kMostBytes = int64_t{1} << 40;  // of a key
constexpr int64_t kMostWhole = int64_t{1} << 30;  // of one that is not cut

int64_t elements_of(const Key& key) {
  return std::accumulate(key.shape.begin(), key.shape.end(), int64_t{1}, std::multiplies<int64_t>());
}
int64_t width_of(plan::DType dtype) { return core::dtype_bytes(dtype); }
int64_t bytes_of(const Key& key) { return elements_of(key) * width_of(key.dtype); }
int64_t rounded_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

std::string quoted(const Key& key) { return absl::StrCat("'", io::printable(key.name, io::kMostShown), "'"); }

absl::Status check(const std::vector<Key>& keys) {
  std::set<std::string> names;
  for (size_t number = 0; number < keys.size(); ++number) {
    const Key& key = keys[number];
    if (key.beside != plan::kNone && (key.beside >= number || keys[key.beside].shape != key.shape ||
                                      keys[key.beside].dtype != key.dtype || keys[key.beside].beside != plan::kNone))
      return absl::InvalidArgumentError(absl::StrCat("key ", quoted(key), " does not match the one that it lies beside"));
    if (key.name.empty()) return absl::InvalidArgumentError("a key has no name");
    if (!names.insert(key.name).second) return absl::InvalidArgumentError(absl::StrCat("two keys are called ", quoted(key)));
    const bool packs = key.dtype == plan::DType::f32 || key.dtype == plan::DType::f64;
    if (key.compressed != Key::Compressed::nothing && !packs)
      return absl::InvalidArgumentError(absl::StrCat("key ", quoted(key), ": arrays of f32 and f64 are compressed"));
    if (!is_added(key.dtype))
      return absl::InvalidArgumentError(
          absl::StrCat("key ", quoted(key), " is ", core::dtype_name(key.dtype), ": arrays of f16, bf16, f32, f64, i32 and i64 are added"));
    int64_t bytes = width_of(key.dtype);
    for (int64_t extent : key.shape) {
      if (extent < 0 || (extent > 0 && bytes > kMostBytes / extent))
        return absl::InvalidArgumentError(absl::StrCat("key ", quoted(key), " is too large"));
      bytes *= extent;
    }
  }
  return absl::OkStatus();
}

// Where arrays of elements of so many bytes may be cut.
int64_t unit_of(const PlanRules& rules, int64_t width) { return rules.compression.is_on() ? kBlock * width : kAlignment; }

// Of an array that is cut: small enough that the servers can share the whole evenly.
int64_t piece_bytes(const std::vector<Key>& keys, const PlanRules& rules) {
  int64_t total = 0;
  for (const Key& key : keys) total += bytes_of(key);
  const int64_t wanted = total / (rules.servers * 24);
  return rounded_up(std::clamp(wanted, rules.smallest_piece, rules.largest_piece), kAlignment);
}

Chunk whole_chunk(plan::DType dtype, int64_t bytes, const Piece& piece) {
  Chunk chunk;
  chunk.bytes = static_cast<uint32_t>(bytes);
  chunk.dtype = dtype;
  chunk.pieces = {piece};
  return chunk;
}

void cut(uint32_t number, const Key& key, const PlanRules& rules, int64_t most, std::vector<Chunk>& chunks) {
  const int64_t bytes = bytes_of(key), width = width_of(key.dtype);
  const int64_t pieces = (bytes + most - 1) / most;
  const int64_t each = rounded_up((bytes + pieces - 1) / pieces, unit_of(rules, width));
  for (int64_t at = 0; at < bytes; at += each) {
    const int64_t size = std::min(each, bytes - at);
    chunks.push_back(whole_chunk(key.dtype, size, {number, at / width, size / width}));
  }
}

// By key: those that lie beside it, in order.
std::vector<std::vector<uint32_t>> beside_of(const std::vector<Key>& keys) {
  std::vector<std::vector<uint32_t>> beside(keys.size());
  for (uint32_t number = 0; number < keys.size(); ++number)
    if (keys[number].beside != plan::kNone) beside[keys[number].beside].push_back(number);
  return beside;
}

// Puts the key behind the last chunk, if that is a bundle that has room. False: it has none, or what lies beside its keys would not match.
bool bundle(uint32_t number, const std::vector<Key>& keys, const PlanRules& rules, const std::vector<std::vector<uint32_t>>& beside,
            std::vector<Chunk>& chunks) {
  const Key& key = keys[number];
  if (chunks.empty() || bytes_of(key) >= rules.bundle_below || key.alone) return false;
  Chunk& last = chunks.back();
  const uint32_t first = last.pieces.front().key;
  if (last.dtype != key.dtype || last.bytes >= rules.bundle_below || bytes_of(keys[first]) >= rules.bundle_below) return false;
  if (keys[first].alone || keys[first].compressed != key.compressed || beside[first].size() != beside[number].size()) return false;
  const auto at = static_cast<uint32_t>(rounded_up(last.bytes, kAlignment));
  last.pieces.push_back({number, 0, elements_of(key), at});
  last.bytes = at + static_cast<uint32_t>(bytes_of(key));
  return true;
}

// Makes the chunks of what lies beside keys: cut and bundled as those are.
void lay_beside(const std::vector<std::vector<uint32_t>>& beside, std::vector<Chunk>& chunks) {
  for (size_t chunk = 0, count = chunks.size(); chunk < count; ++chunk) {
    for (size_t i = 0; i < beside[chunks[chunk].pieces.front().key].size(); ++i) {
      Chunk made = chunks[chunk];
      made.beside.clear();
      for (Piece& piece : made.pieces) piece.key = beside[piece.key][i];
      chunks[chunk].beside.push_back(static_cast<uint32_t>(chunks.size()));
      chunks.push_back(std::move(made));
    }
  }
}

// What a chunk takes compressed.
void settle_packed(const std::vector<Key>& keys, const PlanRules& rules, Chunk& chunk) {
  if (!rules.compression.is_on() || keys[chunk.pieces.front().key].compressed == Key::Compressed::nothing) return;
  for (Piece& piece : chunk.pieces) {
    piece.packed_at = chunk.packed;
    chunk.packed += static_cast<uint32_t>(packed_bytes(rules.compression, chunk.dtype, piece.count));
  }
}

// Chunks that lie beside others go where those are.
void place(std::vector<Chunk>& chunks, const std::vector<Key>& keys, int64_t servers) {
  std::vector<size_t> order;
  for (size_t chunk = 0; chunk < chunks.size(); ++chunk)
    if (keys[chunks[chunk].pieces.front().key].beside == plan::kNone) order.push_back(chunk);
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return chunks[a].bytes != chunks[b].bytes ? chunks[a].bytes > chunks[b].bytes : a < b; });
  std::set<std::pair<int64_t, uint32_t>> least;  // bytes, server
  for (int64_t server = 0; server < servers; ++server) least.insert({0, static_cast<uint32_t>(server)});
  for (size_t chunk : order) {
    auto [bytes, server] = *least.begin();
    least.erase(least.begin());
    chunks[chunk].server = server;
    least.insert({bytes + chunks[chunk].bytes, server});
    for (uint32_t beside : chunks[chunk].beside) chunks[beside].server = server;
  }
}

// FNV-1a of all that members must agree on.
uint64_t hash_of(const CommunicationPlan& plan) {
  const PlanRules& rules = plan.rules;
  std::string text =
      absl::StrCat("wire ", kWireVersion, "\n", rules.servers, " ", rules.workers, " ", rules.shards, " ", rules.consistency, "\n");
  if (rules.compression.is_on()) absl::StrAppend(&text, "compression ", to_string(rules.compression), "\n");
  for (const Key& key : plan.keys)
    absl::StrAppend(&text, key.name.size(), " ", key.name, " ", static_cast<int>(key.dtype), " ", absl::StrJoin(key.shape, "x"),
                    key.beside == plan::kNone ? "" : absl::StrCat(" beside ", key.beside),
                    key.compressed == Key::Compressed::nothing ? "" : absl::StrCat(" compressed ", static_cast<int>(key.compressed)), "\n");
  for (const Chunk& chunk : plan.chunks) {
    absl::StrAppend(&text, chunk.bytes, " ", chunk.server);
    for (const Piece& piece : chunk.pieces)
      absl::StrAppend(&text, " ", piece.key, ":", piece.first, "+", piece.count, "@", piece.at);
    absl::StrAppend(&text, "\n");
  }
  return core::fnv(core::kFnv, text.data(), text.size());
}

}  // namespace

absl::StatusOr<CommunicationPlan> make_plan(std::vector<Key> keys, const PlanRules& rules) {
  if (absl::Status status = check(keys); !status.ok()) return status;
  CommunicationPlan plan;
  plan.rules = rules;
  plan.keys = std::move(keys);
  const int64_t most = piece_bytes(plan.keys, rules);
  const std::vector<std::vector<uint32_t>> beside = beside_of(plan.keys);
  for (uint32_t number = 0; number < plan.keys.size(); ++number) {
    const Key& key = plan.keys[number];
    if (key.beside != plan::kNone) continue;
    if (const int64_t bytes = bytes_of(key); bytes <= rules.cut_above && bytes > kMostWhole)
      return absl::InvalidArgumentError(absl::StrCat("key ", quoted(key), " is too large to stay whole: at most 1 GiB"));
    if (bytes_of(key) > rules.cut_above) {
      cut(number, key, rules, most, plan.chunks);
    } else if (!bundle(number, plan.keys, rules, beside, plan.chunks)) {
      plan.chunks.push_back(whole_chunk(key.dtype, bytes_of(key), {number, 0, elements_of(key)}));
    }
  }
  lay_beside(beside, plan.chunks);
  plan.of_key.resize(plan.keys.size());
  for (uint32_t chunk = 0; chunk < plan.chunks.size(); ++chunk) {
    plan.chunks[chunk].priority = -static_cast<int32_t>(plan.chunks[chunk].pieces.front().key);
    for (const Piece& piece : plan.chunks[chunk].pieces) plan.of_key[piece.key].push_back(chunk);
  }
  for (Chunk& chunk : plan.chunks) settle_packed(plan.keys, rules, chunk);
  place(plan.chunks, plan.keys, rules.servers);
  plan.hash = hash_of(plan);
  return plan;
}

Limits CommunicationPlan::limits(uint64_t job) const {
  Limits limits{job, speakers(), {}, 1, {}};
  for (const Chunk& chunk : chunks) {
    limits.chunk_bytes.push_back(chunk.bytes);
    limits.packed_bytes.push_back(chunk.packed);
  }
  for (int64_t worker = 0; worker < rules.workers; ++worker) {
    limits.parts = std::max(limits.parts, static_cast<uint32_t>(parts_of_worker(worker).size()));
    if (!machines.empty()) limits.parts = std::max(limits.parts, static_cast<uint32_t>(parts_of_machine(static_cast<uint32_t>(worker)).size()));
  }
  return limits;
}

std::optional<uint32_t> CommunicationPlan::server_of_rank(uint32_t rank) const {
  for (uint32_t server = 0; server < rules.servers; ++server)
    if (rank_of_server(server) == rank) return server;
  return std::nullopt;
}

std::vector<Node> CommunicationPlan::parts_of_worker(int64_t worker) const {
  // Of one shard, and which one it is does not matter: nothing is added to it.
  if (const Node own = shards_of(worker, rules.workers, rules.shards); rules.each_shard) return {{own.first, own.first + 1}};
  return contributed_parts(rules.compression, shards_of(worker, rules.workers, rules.shards), rules.shards);
}

// What is compressed is so for each shard, and nothing is pushed to what lies beside other chunks: there level 1 has nothing to add.
uint32_t CommunicationPlan::server_for(uint32_t chunk, uint32_t rank) const {
  const Chunk& planned = chunks[chunk];
  if (machines.empty() || planned.packed != 0 || keys[planned.pieces.front().key].beside != plan::kNone) return planned.server;
  if (machines.members(rank).size() == 1 || machines.share(rank, rank_of_server(planned.server))) return planned.server;
  // Chunks of one size go to the servers of level 2 in turn: so each of these gives its own to all processes of the machine in turn.
  return level1_of_rank(machines.in_turn(chunk / static_cast<uint64_t>(rules.servers), rank));
}

std::vector<Node> CommunicationPlan::parts_of_speaker(uint32_t chunk, uint32_t speaker) const {
  if (speaker < rules.workers) return is_level1(server_for(chunk, speaker)) ? std::vector<Node>() : parts_of_worker(speaker);
  const uint32_t rank = speaker - static_cast<uint32_t>(rules.workers);
  return server_for(chunk, rank) == level1_of_rank(rank) ? parts_of_machine(rank) : std::vector<Node>();
}

std::vector<Node> CommunicationPlan::parts_of_machine(uint32_t rank) const {
  std::vector<Node> ranges;
  for (uint32_t member : machines.members(rank)) {
    const Node own = shards_of(member, rules.workers, rules.shards);
    if (ranges.empty() || ranges.back().end != own.first) ranges.push_back(own);
    else ranges.back().end = own.end;
  }
  std::vector<Node> parts;
  for (Node range : ranges)
    for (Node part : parts_of(range, rules.shards)) parts.push_back(part);
  return parts;
}

bool CommunicationPlan::unpack(uint32_t number, std::string_view packed, std::span<char> into) const {
  const Chunk& chunk = chunks[number];
  if (packed.size() != chunk.packed || into.size() != chunk.bytes) return false;
  for (const Piece& piece : chunk.pieces) {
    const auto bytes = static_cast<size_t>(piece.count * width_of(chunk.dtype));
    const auto size = static_cast<size_t>(packed_bytes(rules.compression, chunk.dtype, piece.count));
    if (!kv::unpack(rules.compression, chunk.dtype, packed.substr(piece.packed_at, size), into.subspan(piece.at, bytes))) return false;
  }
  return true;
}

int64_t CommunicationPlan::bytes_of_server(uint32_t server) const {
  int64_t bytes = 0;
  for (const Chunk& chunk : chunks) bytes += chunk.server == server ? chunk.bytes : 0;
  return bytes;
}

}  // namespace mxc::kv
