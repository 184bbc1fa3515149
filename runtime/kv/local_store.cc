// The store of one process: sums and updates are operations on arrays, queued like all others.
#include <utility>

#include "runtime/kv/store.h"
#include "runtime/ndarray/array.h"

namespace mxc::kv {

namespace {

class LocalStore : public Store {
 public:
  explicit LocalStore(int64_t shards) : Store(0, 1, shards) {}

 private:
  void init_key(uint32_t, const NDArray& value, Here here) override {
    values_.push_back(value.copy(here));
    steps_.push_back(0);
  }

  void begin(Here) override {}

  void push_key(uint32_t key, const std::vector<NDArray>& values, int32_t, Here here) override {
    const NDArray sum = sum_of_shards({0, shards}, 0, values);
    const int64_t step = ++steps_[key];
    if (!updater_) return values_[key].assign(sum, here);
    updater_({keys_[key].name, 0, step, shards, sum.flatten(here), values_[key].flatten(here)});
  }

  void pull_key(uint32_t key, const NDArray& target, Here here) override { target.assign(values_[key], here); }

  void meet(Here) override {}
  void end(Here) override {}

  std::vector<NDArray> values_;
  std::vector<int64_t> steps_;
};

}  // namespace

std::shared_ptr<Store> make_local_store(int64_t shards) { return std::make_shared<LocalStore>(shards); }

}  // namespace mxc::kv
