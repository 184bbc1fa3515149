// Store: what a KVStore is inside. What users can do wrong is checked here, for all kinds; the kinds do the rest.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mxc/kvstore.h"
#include "runtime/kv/consistency.h"
#include "runtime/kv/kind.h"
#include "runtime/kv/process.h"
#include "runtime/kv/plan.h"

namespace mxc::kv {

using Updater = std::function<void(const KVUpdate&)>;

class Store {
 public:
  Store(uint32_t rank, uint32_t size, int64_t shards, const Compression& compression = {});
  virtual ~Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  void init(const std::string& key, const NDArray& value, Here here);
  void push(const std::string& key, const std::vector<NDArray>& values, int priority, Here here);
  void pull(const std::string& key, const NDArray& target, Here here);
  void set_updater(Updater updater, Here here);
  void barrier(Here here);
  void close(Here here);

  const uint32_t rank, size;
  const int64_t shards;
  const Node own;  // shards of this worker
  const Compression compression;

 protected:
  // Of the kinds. Keys are numbers in the order of init; arguments have been checked.
  virtual void init_key(uint32_t key, const NDArray& value, Here here) = 0;
  virtual void begin(Here here) = 0;  // the keys are known
  virtual void push_key(uint32_t key, const std::vector<NDArray>& values, int32_t priority, Here here) = 0;
  virtual void pull_key(uint32_t key, const NDArray& target, Here here) = 0;
  virtual void meet(Here here) = 0;
  virtual void end(Here here) = 0;  // waits for everybody; throws

  bool compresses(uint32_t key) const {
    return compression.is_on() && (keys_[key].dtype == plan::DType::f32 || keys_[key].dtype == plan::DType::f64);
  }

  std::vector<Key> keys_;
  Updater updater_;
  bool closed_ = false;

 private:
  uint32_t known(const char* op, const std::string& key, Here here) const;
  void check_alike(const char* op, uint32_t key, const NDArray& array, Here here) const;
  void check_open(const char* op, Here here) const;
  void begin_once(Here here);

  std::map<std::string, uint32_t> numbers_;
  bool begun_ = false;
};

// The sum by the tree over `node`, of values of shards from `first` on, queued on their engine.
NDArray sum_of_shards(Node node, int64_t first, const std::vector<NDArray>& values);

// What has been left out of a worker's pushes, by key and shard of its own. Those of a key change in one operation at a time.
class Residuals {
 public:
  // Compresses `contribution`, which becomes what others make of it. Returns its bytes.
  std::string pack(const Compression& compression, plan::DType dtype, uint32_t key, size_t shard, std::span<char> contribution);
  // Before the first `pack`.
  void begin(size_t keys, size_t shards) { left_.assign(keys, std::vector<std::vector<char>>(shards)); }

 private:
  std::vector<std::vector<std::vector<char>>> left_;
};

// `each_shard`: as below.
std::shared_ptr<Store> make_local_store(int64_t shards, const Compression& compression = {}, bool each_shard = false);

struct StoreOptions {
  int64_t shards = 1;
  int64_t servers = 1;  // from 1 to the number of processes
  Compression compression = {};
  bool whole_keys = false;
  bool each_shard = false;  // each shard's push is an update of its own; without compression
};
// `options.endpoint` decides over which network.
absl::StatusOr<std::shared_ptr<Store>> make_remote_store(const ProcessOptions& options, const StoreOptions& store);

}  // namespace mxc::kv
