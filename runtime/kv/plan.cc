// See plan.h.
#include "runtime/kv/plan.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/core/plan_sizes.h"
#include "runtime/io/printable.h"
#include "runtime/kv/tree.h"

namespace mxc::kv {

namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kMostBytes = int64_t{1} << 40;  // of a key

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
    const bool added = key.dtype == plan::DType::f32 || key.dtype == plan::DType::f64 || key.dtype == plan::DType::i32 ||
                       key.dtype == plan::DType::i64;
    if (!added) return absl::InvalidArgumentError(absl::StrCat("key ", quoted(key), ": arrays of f32, f64, i32 and i64 are added"));
    int64_t bytes = width_of(key.dtype);
    for (int64_t extent : key.shape) {
      if (extent < 0 || (extent > 0 && bytes > kMostBytes / extent))
        return absl::InvalidArgumentError(absl::StrCat("key ", quoted(key), " is too large"));
      bytes *= extent;
    }
  }
  return absl::OkStatus();
}

// Of an array that is cut: small enough that the servers can share the whole evenly.
int64_t piece_bytes(const std::vector<Key>& keys, const PlanRules& rules) {
  int64_t total = 0;
  for (const Key& key : keys) total += bytes_of(key);
  const int64_t wanted = total / (rules.servers * 24);
  return rounded_up(std::clamp(wanted, rules.smallest_piece, rules.largest_piece), kAlignment);
}

void cut(uint32_t number, const Key& key, int64_t most, std::vector<Chunk>& chunks) {
  const int64_t bytes = bytes_of(key), width = width_of(key.dtype);
  const int64_t pieces = (bytes + most - 1) / most;
  const int64_t each = rounded_up((bytes + pieces - 1) / pieces, kAlignment);
  for (int64_t at = 0; at < bytes; at += each) {
    const int64_t size = std::min(each, bytes - at);
    chunks.push_back({static_cast<uint32_t>(size), key.dtype, 0, 0, {{number, at / width, size / width, 0}}, {}});
  }
}

// Puts the key behind the last chunk, if that is a bundle that has room. False: it has none. Keys with others beside them are alone.
bool bundle(uint32_t number, const Key& key, const PlanRules& rules, std::vector<Chunk>& chunks, const std::set<uint32_t>& alone) {
  if (chunks.empty() || bytes_of(key) >= rules.bundle_below || alone.contains(number)) return false;
  if (alone.contains(chunks.back().pieces.back().key)) return false;
  Chunk& last = chunks.back();
  if (last.dtype != key.dtype || last.bytes >= rules.bundle_below) return false;
  const auto at = static_cast<uint32_t>(rounded_up(last.bytes, kAlignment));
  last.pieces.push_back({number, 0, elements_of(key), at});
  last.bytes = at + static_cast<uint32_t>(bytes_of(key));
  return true;
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
  for (const Key& key : plan.keys)
    absl::StrAppend(&text, key.name.size(), " ", key.name, " ", static_cast<int>(key.dtype), " ", absl::StrJoin(key.shape, "x"),
                    key.beside == plan::kNone ? "" : absl::StrCat(" beside ", key.beside), "\n");
  for (const Chunk& chunk : plan.chunks) {
    absl::StrAppend(&text, chunk.bytes, " ", chunk.server);
    for (const Piece& piece : chunk.pieces)
      absl::StrAppend(&text, " ", piece.key, ":", piece.first, "+", piece.count, "@", piece.at);
    absl::StrAppend(&text, "\n");
  }
  uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned char c : text) hash = (hash ^ c) * 0x100000001b3u;
  return hash;
}

}  // namespace

absl::StatusOr<CommunicationPlan> make_plan(std::vector<Key> keys, const PlanRules& rules) {
  if (absl::Status status = check(keys); !status.ok()) return status;
  CommunicationPlan plan;
  plan.rules = rules;
  plan.keys = std::move(keys);
  const int64_t most = piece_bytes(plan.keys, rules);
  std::set<uint32_t> alone;
  for (uint32_t number = 0; number < plan.keys.size(); ++number)
    if (plan.keys[number].beside != plan::kNone) alone.insert({number, plan.keys[number].beside});
  for (uint32_t number = 0; number < plan.keys.size(); ++number) {
    const Key& key = plan.keys[number];
    if (bytes_of(key) > rules.cut_above) {
      cut(number, key, most, plan.chunks);
    } else if (!bundle(number, key, rules, plan.chunks, alone)) {
      plan.chunks.push_back({static_cast<uint32_t>(bytes_of(key)), key.dtype, 0, 0, {{number, 0, elements_of(key), 0}}, {}});
    }
  }
  plan.of_key.resize(plan.keys.size());
  for (uint32_t chunk = 0; chunk < plan.chunks.size(); ++chunk) {
    plan.chunks[chunk].priority = -static_cast<int32_t>(plan.chunks[chunk].pieces.front().key);
    for (const Piece& piece : plan.chunks[chunk].pieces) plan.of_key[piece.key].push_back(chunk);
  }
  for (uint32_t number : alone) {
    const uint32_t with = plan.keys[number].beside;
    for (size_t i = 0; with != plan::kNone && i < plan.of_key[number].size(); ++i)
      plan.chunks[plan.of_key[with][i]].beside.push_back(plan.of_key[number][i]);
  }
  place(plan.chunks, plan.keys, rules.servers);
  plan.hash = hash_of(plan);
  return plan;
}

Limits CommunicationPlan::limits(uint64_t job) const {
  Limits limits{job, static_cast<uint32_t>(rules.workers), {}, 1};
  for (const Chunk& chunk : chunks) limits.chunk_bytes.push_back(chunk.bytes);
  for (int64_t worker = 0; worker < rules.workers; ++worker) {
    const size_t parts = parts_of(shards_of(worker, rules.workers, rules.shards), rules.shards).size();
    limits.parts = std::max(limits.parts, static_cast<uint32_t>(parts));
  }
  return limits;
}

int64_t CommunicationPlan::bytes_of_server(uint32_t server) const {
  int64_t bytes = 0;
  for (const Chunk& chunk : chunks) bytes += chunk.server == server ? chunk.bytes : 0;
  return bytes;
}

}  // namespace mxc::kv
