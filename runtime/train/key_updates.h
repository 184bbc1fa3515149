// What becomes of the values that shards share, when the sum of a step's contributions is there. It is the same code, and gives the same bits, in a
// process that trains alone, in a server beside a worker, and for a whole tensor or any part of it.
//
// Optimizers are compiled into the program: a graph of kind `update` takes elements of a parameter in a row, its gradients and its slots as the batch of
// a run ("update/weight", "update/gradient", "update/momentum", ...). Which graph is a parameter's says the fact "update:NAME"; without one it is
// "update". A contribution to a gradient is the mean over a shard's n samples, times n / batch; to a layer's state likewise.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/core/executor.h"
#include "runtime/core/plan_view.h"
#include "runtime/core/storage.h"
#include "runtime/kv/plan.h"

namespace mxc::train {

// What is shared under a name.
struct SharedKey {
  enum class Kind : uint8_t {
    parameter,  // gradients are summed; the optimizer updates it
    gradient,   // of a parameter that each process updates itself (whole_update.h): its first value, and then the sum of a step's gradients
    state,      // of a layer, as shards leave it: the mean over samples
    slot,       // of the optimizer: lies beside a parameter, and is updated with it
    exact,      // the value of a parameter whose key has what processes were told of it, compressed: lies beside it, behind its slots
    sum,        // becomes the sum of a step
    total,      // the sum of all steps
    tally,      // one half becomes the sum of a step; the other that of all steps since the epoch began
  };
  std::string name;
  Kind kind = Kind::sum;
  plan::DType dtype = plan::DType::f32;
  std::vector<int64_t> shape;
  uint32_t buffer = plan::kNone;         // of the model's storage: parameter (of a gradient, too), state, slot
  uint32_t contribution = plan::kNone;   // what a shard's run leaves: a gradient; of a state, the state itself
  uint32_t beside = plan::kNone;         // slot: the key of its parameter
  uint32_t update = 0;                   // parameter: which graph
  kv::Key::Compressed compressed = kv::Key::Compressed::nothing;
  bool alone = false;                    // it is pushed by itself, and not in every step
  bool begins_anew = false;              // see kv::Key
};

struct UpdateRules {
  std::map<std::string, double> hypers;      // but for lr
  std::function<double(int64_t)> rate;       // learning rate of a step of the training, from 0
  int64_t first_step = 0;                    // steps of the training before the first that is shared
  int64_t epoch_steps = 1;                   // of an epoch
  int64_t batch = 1;                         // of a shard
  int64_t updates_a_step = 1;                // more than one if contributions of processes are not added
  kv::Compression compression = {};
};

// Writes the hyper-parameters of update number `update` (from 0), of `samples` together, into a storage.
void set_hypers(const core::PlanView& view, const core::Storage& storage, const UpdateRules& rules, int64_t update, uint64_t samples);

class KeyUpdates {
 public:
  // What the program's training shares: parameters that it trains, or their gradients, and states that it changes, in the order of the outputs of "gradients",
  // which is that in which they go first (passes/distribute.cc); then slots. Error
  // (unimplemented): the program has no graphs for it; a state that is no f32 or f64.
  static absl::StatusOr<std::vector<SharedKey>> keys_of(const core::PlanView& view);

  // The program must outlive it. Memory: that of one run of `update`.
  static absl::StatusOr<std::unique_ptr<KeyUpdates>> create(const plan::Program& program, const core::PlanView& view, UpdateRules rules);

  // Update number `step` (from 1) of elements of a key, or all of them, row-major: `sum` of contributions of shards with `samples` together; `slots`
  // of the same elements in the order of their keys. Threads: one at a time. Of a key whose differences are compressed `value` is moved towards the last slot
  // by one, which is appended to `difference` (may be null).
  absl::Status apply(const SharedKey& key, uint64_t step, uint64_t samples, std::span<const char> sum, std::span<char> value,
                     const std::vector<std::span<char>>& slots, std::string* difference = nullptr);

 private:
  struct Graph {
    core::Executor executor;
    std::vector<uint32_t> inputs, outputs;  // weight, gradient, slots; weight, slots
    int64_t batch = 0;
  };

  absl::Status optimise(const SharedKey& key, uint64_t step, uint64_t samples, std::span<const char> sum, std::span<char> value,
                        const std::vector<std::span<char>>& slots);

  core::PlanView view_;
  UpdateRules rules_;
  core::Storage storage_;
  std::vector<Graph> graphs_;
};

}  // namespace mxc::train
