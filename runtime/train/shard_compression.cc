// See shard_compression.h.
#include "runtime/train/shard_compression.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/core/plan_sizes.h"

namespace mxc::train {

namespace {

bool is_compressed(const SharedKey& key) { return key.compressed != kv::Key::Compressed::nothing; }

absl::Status lacks(const std::string& name) {
  return absl::InvalidArgumentError(absl::StrCat("the checkpoint lacks the tensor '", name, "', which compression has kept"));
}

}  // namespace

kv::Key::Compressed compressed_of(SharedKey::Kind kind, const kv::Consistency& consistency) {
  if (kind == SharedKey::Kind::gradient) return kv::Key::Compressed::contributions;
  if (kind != SharedKey::Kind::parameter) return kv::Key::Compressed::nothing;
  return consistency == kv::Consistency() ? kv::Key::Compressed::differences : kv::Key::Compressed::contributions;
}

size_t ShardCompression::bytes_of(uint32_t key) const {
  int64_t elements = 1;
  for (int64_t extent : keys_[key].shape) elements *= extent;
  return static_cast<size_t>(elements * core::dtype_bytes(keys_[key].dtype));
}

absl::Status ShardCompression::begin(const Job& job, const Shards& shards, std::vector<SharedKey>& keys, const Kept* kept) {
  compression_ = job.compression;
  shards_ = shards;
  if (!is_on()) return absl::OkStatus();
  const auto tensors = static_cast<uint32_t>(keys.size());
  for (uint32_t key = 0; key < tensors; ++key) {
    keys[key].compressed = compressed_of(keys[key].kind, job.consistency);
    if (keys[key].compressed != kv::Key::Compressed::differences) continue;
    SharedKey own = keys[key];
    own.name = absl::StrCat(own.name, "/exact");
    own.kind = SharedKey::Kind::exact;
    own.contribution = plan::kNone;
    own.beside = key;
    own.compressed = kv::Key::Compressed::nothing;
    if (kept != nullptr) {
      auto found = kept->find(own.name);
      if (found == kept->end()) return lacks(own.name);
      initial_[static_cast<uint32_t>(keys.size())] = found->second;
    }
    keys.push_back(std::move(own));
  }
  keys_ = keys;
  residuals_.resize(tensors);
  packed_.resize(tensors);
  int64_t words = sizeof(Mark) / sizeof(int32_t);
  for (uint32_t key = 0; key < tensors; ++key) {
    if (!is_compressed(keys[key])) continue;
    words += static_cast<int64_t>(bytes_of(key) / sizeof(int32_t));
    if (absl::Status status = add_residuals(key, kept); !status.ok()) return status;
  }
  const int64_t of_rank_0 = kv::shards_of(0, job.size, shards.count).end;
  for (int64_t shard = of_rank_0; shard < shards.count; ++shard) {
    residual_keys_[shard] = static_cast<uint32_t>(keys.size());
    keys.push_back({absl::StrCat("/residuals/", shard), SharedKey::Kind::sum, plan::DType::i32, {words}});
    keys.back().alone = true;
  }
  return absl::OkStatus();
}

absl::Status ShardCompression::add_residuals(uint32_t key, const Kept* kept) {
  const size_t bytes = bytes_of(key);
  const int64_t elements = static_cast<int64_t>(bytes) / core::dtype_bytes(keys_[key].dtype);
  const std::string name = absl::StrCat(keys_[key].name, "/residual");
  const std::string* all = nullptr;
  if (kept != nullptr) {
    auto found = kept->find(name);
    if (found == kept->end()) return lacks(name);
    all = &found->second;
  }
  for (int64_t shard = shards_.own.first; shard < shards_.own.end; ++shard) {
    std::vector<char>& residual = residuals_[key].emplace_back(bytes);
    if (all != nullptr) std::memcpy(residual.data(), all->data() + static_cast<size_t>(shard) * bytes, bytes);
    packed_[key].emplace_back(static_cast<size_t>(kv::packed_bytes(compression_, keys_[key].dtype, elements)), '\0');
  }
  return absl::OkStatus();
}

const std::string* ShardCompression::initial(uint32_t key) const {
  auto found = initial_.find(key);
  return found == initial_.end() ? nullptr : &found->second;
}

void ShardCompression::pack(uint32_t key, size_t own, std::span<char> contribution) {
  kv::pack(compression_, keys_[key].dtype, contribution, residuals_[key][own], packed_[key][own].data());
}

uint32_t ShardCompression::residual_key(int64_t shard) const {
  auto found = residual_keys_.find(shard);
  return found == residual_keys_.end() ? plan::kNone : found->second;
}

absl::Status ShardCompression::open_state(const Job& job, uint64_t program) {
  if (!is_on() || !job.waits()) return absl::OkStatus();
  std::vector<ResidualState::Residuals> kept;
  parameters_.assign(residuals_.size(), plan::kNone);
  for (uint32_t key = 0; key < residuals_.size(); ++key) {
    if (residuals_[key].empty()) continue;
    parameters_[key] = static_cast<uint32_t>(kept.size());
    kept.emplace_back(residuals_[key].begin(), residuals_[key].end());
  }
  auto opened = ResidualState::open(*job.identity, program, std::move(kept));
  if (!opened.ok()) return opened.status();
  state_ = *std::move(opened);
  return absl::OkStatus();
}

void ShardCompression::keep_state(uint32_t key, uint64_t step) {
  if (state_ != nullptr && parameters_[key] != plan::kNone) state_->keep(parameters_[key], step);
}

ShardCompression::Mark ShardCompression::mark_of(const std::string& residuals) {
  Mark mark;
  std::memcpy(&mark, residuals.data(), sizeof mark);
  return mark;
}

std::string ShardCompression::residuals_of(size_t own, const Mark& mark) const {
  std::string row(reinterpret_cast<const char*>(&mark), sizeof mark);
  for (const auto& shards : residuals_)
    if (!shards.empty()) row.append(shards[own].data(), shards[own].size());
  return row;
}

void ShardCompression::keep(int64_t shard, const std::string& residuals, Kept& kept) const {
  size_t at = sizeof(Mark);
  for (uint32_t key = 0; key < residuals_.size(); ++key) {
    if (residuals_[key].empty()) continue;
    const size_t bytes = bytes_of(key);
    std::string& all = kept[absl::StrCat(keys_[key].name, "/residual")];
    all.resize(static_cast<size_t>(shards_.count) * bytes);
    std::memcpy(all.data() + static_cast<size_t>(shard) * bytes, residuals.data() + at, bytes);
    at += bytes;
  }
}

}  // namespace mxc::train
