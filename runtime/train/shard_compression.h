// What compression (kv/compression.h) keeps in a training, and how it gets into a checkpoint and out again.
//
// Each shard has a residual for each parameter: what has been left out of its contributions. And where values come back compressed (dist_sync, and one
// process with several shards), a parameter's key has what processes were told, and a key beside it the exact value, which the optimizer updates. Both belong
// to shards and parameters, and not to processes: so a training goes on from them bit for bit on another number of processes.
//
// A checkpoint has them as tensors: "NAME/exact", and "NAME/residual" with the shards as its first axis. Rank 0, which writes it, pulls the exact values, and
// the residuals of other processes' shards: each of these shards has a key of its own, to which its process alone contributes.
//
// In a job that waits for its dead, a process keeps its residuals in a file (residual_state.h).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/train/exchange.h"
#include "runtime/train/job.h"
#include "runtime/train/residual_state.h"
#include "runtime/train/shards.h"

namespace mxc::train {

// By the tensor's name: bytes, row-major.
using Kept = std::map<std::string, std::string>;

// What travels compressed of a key of this kind: in dist_sync values come back so, too.
kv::Key::Compressed compressed_of(SharedKey::Kind kind, const kv::Consistency& consistency);

class ShardCompression {
 public:
  bool is_on() const { return compression_.is_on(); }

  // Marks the keys whose contributions are compressed, and appends further keys. `kept`: of the checkpoint that is gone on from; null: of none. Error
  // (invalid argument): it lacks a tensor.
  absl::Status begin(const Job& job, const Shards& shards, std::vector<SharedKey>& keys, const Kept* kept);
  bool packs(uint32_t key) const { return is_on() && key < residuals_.size() && !residuals_[key].empty(); }
  // Of a key that `begin` has appended; null: of none.
  const std::string* initial(uint32_t key) const;

  // Compresses what a shard, counted among this process's, contributes; it becomes what others will make of it.
  void pack(uint32_t key, size_t own, std::span<char> contribution);
  const char* packed(uint32_t key, size_t own) const { return packed_[key][own].data(); }

  // In a job that waits for its dead: opens the file; residuals become those after so many steps; a parameter's after a step, of which nothing has left yet, are
  // kept; the job is over. Errors: see ResidualState. Otherwise nothing.
  absl::Status open_state(const Job& job, uint64_t program);
  absl::Status restore(uint64_t steps) { return state_ == nullptr ? absl::OkStatus() : state_->restore(steps); }
  void keep_state(uint32_t key, uint64_t step);
  void remove_state() { if (state_ != nullptr) state_->remove(); }

  // The keys by which residuals travel: of shard `shard`; kNone: rank 0 has them.
  uint32_t residual_key(int64_t shard) const;
  // When residuals travel: after which step, and for which time after it.
  struct Mark {
    uint64_t step = 0, time = 0;
  };
  // The residuals of one of this process's shards, of all parameters in a row behind a mark; that mark; and into `kept` from such a row.
  std::string residuals_of(size_t own, const Mark& mark) const;
  static Mark mark_of(const std::string& residuals);
  void keep(int64_t shard, const std::string& residuals, Kept& kept) const;

 private:
  size_t bytes_of(uint32_t key) const;
  absl::Status add_residuals(uint32_t key, const Kept* kept);

  kv::Compression compression_;
  Shards shards_;
  std::vector<SharedKey> keys_;
  std::map<uint32_t, std::string> initial_;
  std::map<int64_t, uint32_t> residual_keys_;          // by shard
  std::vector<std::vector<std::vector<char>>> residuals_;  // by key and own shard
  std::vector<std::vector<std::string>> packed_;
  std::vector<uint32_t> parameters_;  // by key: in state_
  std::unique_ptr<ResidualState> state_;  // or null
};

}  // namespace mxc::train
