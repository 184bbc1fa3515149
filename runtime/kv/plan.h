// Plan of the communication: which bytes of which keys travel together, to which server, and what goes first. Made once from what is known
// before the first step; the same on all members, who compare its hash. Pure arithmetic.
//
// Arrays of more than `cut_above` bytes are cut into chunks of equal size, so that servers share them and none blocks the way of another for
// long; if bundling is allowed, neighbours of one dtype that are smaller than `bundle_below` travel as one, and so do those that lie beside
// them. Chunks are given to servers longest first, each to the one that has least.
//
// Servers are processes that are workers too: all of them, or some, evenly spread over the ranks. So they are spread over machines as well, where each
// has a range of ranks, as launchers give them.
//
// Which processes share a machine is known when all have told where they are, and changes no chunk. Servers of level 1 (machines.h) have numbers behind those of
// level 2, `rules.servers` and their rank. A speaker is who contributes to a server of level 2: a worker, by its rank, or a server of level 1 for its machine, by
// the number of workers and its rank.
//
// If the rules say so, what is pushed to some keys is compressed (compression.h), and the way back too: then arrays are cut between blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/core/plan.h"
#include "runtime/kv/compression.h"
#include "runtime/kv/machines.h"
#include "runtime/kv/tree.h"
#include "runtime/kv/wire.h"

namespace mxc::kv {

// A key, as it was initialised. The order of keys is that in which a step's forward part first uses them.
struct Key {
  // What travels compressed, if the rules have a compression. Contributions: what is pushed. Differences: also what changes in the value, to whoever has
  // the version before.
  enum class Compressed : uint8_t { nothing, contributions, differences };
  std::string name;
  std::vector<int64_t> shape;
  plan::DType dtype = plan::DType::f32;
  // An earlier key, of the same shape and dtype, whose updates change this one, too: an optimizer's state. It lies beside that one, cut in the same
  // way on the same servers, and nothing is pushed to it.
  uint32_t beside = plan::kNone;
  Compressed compressed = Compressed::nothing;
  bool alone = false;  // it is pushed in steps of its own: it is in no bundle
  // What it says is of the processes that there are: it begins anew when others take over (takeover.h). Requires: alone.
  bool begins_anew = false;
  bool is_sum = false;  // its value becomes the sum of a step's contributions: nothing else is made of them
};

// Bytes below which the standard trainer's keys travel with their neighbours.
inline constexpr int64_t kBundleBelow = 16 << 10;

struct PlanRules {
  int64_t servers = 1;
  int64_t workers = 1;
  int64_t shards = 1;                // of the job, at least one a worker
  std::string consistency = "sync";  // part of the hash: members must agree
  bool each_shard = false;           // each of a worker's shards contributes in a step of its own
  int64_t cut_above = 256 << 10;     // bytes
  int64_t bundle_below = 0;          // bytes; 0: each key is alone. Keys of a bundle are pushed in the same steps
  int64_t smallest_piece = 64 << 10, largest_piece = 256 << 10;  // of arrays that are cut
  Compression compression = {};
};

// Elements [first, first + count) of a key, `at` bytes from the start of its chunk.
struct Piece {
  uint32_t key = 0;
  int64_t first = 0, count = 0;
  uint32_t at = 0;
  uint32_t packed_at = 0;  // the same of the compressed chunk
};

struct Chunk {
  uint32_t bytes = 0;
  uint32_t packed = 0;  // bytes compressed; 0: it travels as it is
  plan::DType dtype = plan::DType::f32;
  uint32_t server = 0;
  int32_t priority = 0;  // larger first: what is used first
  std::vector<Piece> pieces;
  std::vector<uint32_t> beside;  // chunks with the same elements of the keys that lie beside this one's, in the order of keys
};

// Where a server is: they are spread evenly over the ranks. Requires: no more servers than workers.
inline uint32_t rank_of_server(uint32_t server, int64_t servers, int64_t workers) { return static_cast<uint32_t>(server * workers / servers); }

struct CommunicationPlan {
  std::vector<Key> keys;
  PlanRules rules;
  std::vector<Chunk> chunks;                  // in the order of keys; then those beside others
  std::vector<std::vector<uint32_t>> of_key;  // the chunks that hold a key, in the order of its elements
  uint64_t hash = 0;
  Machines machines;  // not part of the hash

  // Unpacks a compressed chunk into its elements. False: these are no such bytes.
  bool unpack(uint32_t chunk, std::string_view packed, std::span<char> into) const;
  // Requires: no more servers of level 2 than workers.
  uint32_t rank_of_server(uint32_t server) const {
    if (server >= rules.servers) return server - static_cast<uint32_t>(rules.servers);
    return kv::rank_of_server(server, rules.servers, rules.workers);
  }
  // Nothing: the process of this rank is a worker alone.
  std::optional<uint32_t> server_of_rank(uint32_t rank) const;
  // The parts of what a worker contributes.
  std::vector<Node> parts_of_worker(int64_t worker) const;
  // Of both levels.
  uint32_t servers() const { return static_cast<uint32_t>(rules.servers + (machines.empty() ? 0 : rules.workers)); }
  bool is_level1(uint32_t server) const { return server >= rules.servers; }
  // Where a worker's contributions to a chunk go, and its values come from.
  uint32_t server_for(uint32_t chunk, uint32_t rank) const;
  // The number of the server of level 1 of this rank.
  uint32_t level1_of_rank(uint32_t rank) const { return static_cast<uint32_t>(rules.servers) + rank; }
  uint32_t speakers() const { return static_cast<uint32_t>(rules.workers * (machines.empty() ? 1 : 2)); }
  uint32_t speaker_for_machine(uint32_t rank) const { return static_cast<uint32_t>(rules.workers) + rank; }
  // The parts of what a speaker contributes to a chunk; nothing: others speak for it.
  std::vector<Node> parts_of_speaker(uint32_t chunk, uint32_t speaker) const;
  // The largest nodes of the tree over the shards of a rank's machine.
  std::vector<Node> parts_of_machine(uint32_t rank) const;
  // What messages may be in a job of this plan.
  Limits limits(uint64_t job) const;
  int64_t bytes_of_server(uint32_t server) const;
};

// Error: a key without a name or with another's, of a dtype that is not added here, or too large.
absl::StatusOr<CommunicationPlan> make_plan(std::vector<Key> keys, const PlanRules& rules);

}  // namespace mxc::kv
