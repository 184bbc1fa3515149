// The store of one process: sums and updates are operations on arrays, queued like all others.
//
// Nothing travels, but with compression everything is as if it did: contributions become what others would make of them, and pulls bring values that follow the
// updated ones.
#include <utility>

#include "runtime/engine/default_engine.h"
#include "runtime/kv/store.h"
#include "runtime/ndarray/array.h"
#include "runtime/ndarray/copy.h"

namespace mxc::kv {

namespace {

using ndarray::Access;

std::span<char> memory_of(const NDArray& array) {
  const ndarray::Array& a = *Access::peek(array);
  const int64_t width = ndarray::bytes_of(a.dtype);
  return {static_cast<char*>(a.chunk->memory) + a.offset * width, static_cast<size_t>(a.elements * width)};
}

class LocalStore : public Store, public std::enable_shared_from_this<LocalStore> {
 public:
  LocalStore(int64_t shards, const Compression& compression, bool each_shard) : Store(0, 1, shards, compression), each_shard_(each_shard) {}

 private:
  void init_key(uint32_t, const NDArray& value, Here here) override {
    values_.push_back(value.copy(here));
    told_.push_back(compression.is_on() ? value.copy(here) : NDArray());
    steps_.push_back(0);
  }

  void begin(Here) override {
    residuals_->begin(keys_.size(), static_cast<size_t>(shards));
    for (const Key& key : keys_) orders_.push_back(engine::default_engine().variable(key.name));
  }

  void push_key(uint32_t key, const std::vector<NDArray>& values, int32_t, Here here) override {
    if (!each_shard_) return update(key, sum_of_shards({0, shards}, 0, compresses(key) ? compressed(key, values, here) : values), shards, here);
    for (const NDArray& value : values) update(key, value, 1, here);
  }

  void update(uint32_t key, const NDArray& sum, int64_t of_shards, Here here) {
    const int64_t step = ++steps_[key];
    if (!updater_) return values_[key].assign(sum, here);
    updater_({keys_[key].name, 0, step, of_shards, sum.flatten(here), values_[key].flatten(here)});
    if (compresses(key)) follow(key, here);
  }

  void pull_key(uint32_t key, const NDArray& target, Here here) override {
    target.assign(updater_ && compresses(key) ? told_[key] : values_[key], here);
  }

  // What others would make of the contributions.
  std::vector<NDArray> compressed(uint32_t key, const std::vector<NDArray>& values, Here here) {
    std::vector<NDArray> made;
    for (size_t shard = 0; shard < values.size(); ++shard) {
      NDArray copy = values[shard].copy(here);
      change(key, copy, {}, [this, key, shard, copy] {
        residuals_->pack(compression, keys_[key].dtype, key, shard, memory_of(copy));
      });
      made.push_back(std::move(copy));
    }
    return made;
  }

  void follow(uint32_t key, Here here) {
    const NDArray exact = ndarray::as_run(values_[key], "push", here);
    change(key, told_[key], {ndarray::view_of(exact, here).chunk->variable}, [this, key, exact] {
      approach(compression, keys_[key].dtype, memory_of(exact), memory_of(told_[key]), nullptr);
    });
  }

  // Queues what changes an array in place, behind what was queued of this key before. The array has been written.
  void change(uint32_t key, const NDArray& array, const std::vector<engine::Variable>& reads, std::function<void()> body) {
    ndarray::ChunkRef chunk = ndarray::view_of(array).chunk;
    ndarray::begin_write(*chunk);
    engine::default_engine().push({.name = "compress"}, reads, {orders_[key], chunk->variable}, [self = shared_from_this(), chunk, body = std::move(body)] {
      body();
      return absl::OkStatus();
    });
  }

  void meet(Here) override {}
  void end(Here) override {}

  const bool each_shard_;
  std::vector<NDArray> values_;
  std::vector<NDArray> told_;  // what pulls bring, if it is not the value
  std::vector<int64_t> steps_;
  std::vector<engine::Variable> orders_;  // of changes
  const std::shared_ptr<Residuals> residuals_ = std::make_shared<Residuals>();
};

}  // namespace

std::shared_ptr<Store> make_local_store(int64_t shards, const Compression& compression, bool each_shard) {
  return std::make_shared<LocalStore>(shards, compression, each_shard);
}

}  // namespace mxc::kv
