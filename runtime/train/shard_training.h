// ShardTraining: training steps whose gradients come from several shards, in one process or in all of a job.
//
// A step of the training is, in each process, a run of the graph "gradients" for each of its shards; what they contribute is added by the tree over all
// shards; the optimizer updates each parameter from the sum, once, where the exchange keeps it; and the new values come back. All of it is queued on
// the engine before the last run is waited for: a gradient leaves when the run has computed it, while backward goes on, and the next step's run waits
// for each parameter when it first reads it.
//
//     run shard 0 | run shard 1 -------------------------------| run shard 0 ...     lane compute
//                 | add        | add | add ..                                        lane copy
//                              | push | push ..   | pull | pull ..                   lane network
//
// A gradient has a variable, which a run mutates and an addition reads; its sum has one; a parameter has one, which pulls mutate and runs read. Pushes
// and pulls of a key mutate a further one: they keep their order, and a contribution that could not be computed leaves its error for the pull.
//
// Where updates look at more than one element (whole_update.h), pulls bring sums of gradients, and a further run updates all parameters from them.
//
// In a job that waits for its dead, a process may come in the place of one that has died: it asks the servers how many steps all values have, and goes on
// with the next, computed from the values of that step. So that these are still there everywhere, nothing of a step is pushed before all values of the
// step before have come (`gate_`): then no value is more than one step ahead of another, and servers keep the last two of each. Where it updates parameters itself,
// its own state (worker_state.h) has the last update but one at least, and sums of the last step make that one again.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/io/batch_loader.h"
#include "runtime/train/exchange.h"
#include "runtime/train/model.h"
#include "runtime/train/overlap.h"
#include "runtime/train/shard_compression.h"
#include "runtime/train/shards.h"
#include "runtime/train/whole_update.h"
#include "runtime/train/worker_state.h"

namespace mxc::train {

// What a process is to have in common with all others of its job: name and number.
using Agreement = std::vector<std::pair<std::string, int64_t>>;

class ShardTraining {
 public:
  // `runner` runs the graph "gradients" with `bound(keys, ...)`. Error (unimplemented): see KeyUpdates::keys_of.
  static absl::StatusOr<std::unique_ptr<ShardTraining>> create(Model* model, const Job& job, std::unique_ptr<Exchange> exchange);
  // Ends what is under way. Call `close` first to leave in peace.
  ~ShardTraining();

  GraphRunner* runner() { return runner_.get(); }
  const Job& job() const { return job_; }
  const Shards& shards() const { return shards_; }  // requires begin
  // Of a job, what this process has exchanged with the others. Requires: a step.
  struct Communication {
    double sent = 0, received = 0;   // bytes a step
    double pushes = 0, values = 0;   // messages with elements, a step
    uint64_t staleness = 0, again = 0;
    double hidden = 0;               // overlap.h
    double shared = 0;               // per cent of the bytes that stayed in the memory of this machine
  };
  Communication communication() const;
  // The same as a line for people.
  std::string report() const;

  // What has been measured of an epoch.
  struct SoFar {
    std::vector<double> sums;  // of each scalar of the runner: the sum of value x n
    int64_t samples = 0;
  };
  // Where a process begins that comes in the place of one that has died.
  struct Return {
    uint64_t steps = 0;    // that the job has done; 0: it has only begun
    uint64_t samples = 0;  // of the last of them
    SoFar so_far;
    bool stop = false;   // after the last of them a process wanted to stop
  };

  // The model has its first values, those of rank 0 are everybody's from now on. `rules.updates_a_step` is settled here. Waits for all processes.
  // `kept`: of a checkpoint that was trained with compression, else null. Error (invalid argument): they do not agree; it names the ranks. The job's
  // failure.
  absl::StatusOr<Return> begin(const Shards& shards, UpdateRules rules, Agreement agreement, const SoFar& so_far, const Kept* kept = nullptr);

  // What a step measured, in all shards.
  struct Measured {
    std::vector<double> sums;  // of each scalar of the runner: the sum of value x n
    int64_t samples = 0;
    bool stop = false;         // a process wants to stop
  };
  // A step at `position` of an epoch of `samples`; the loader has the batches of this process's shards. `stop`: this process wants no further ones. In a
  // job that is not synchronous, what others have measured may be of an earlier step.
  absl::StatusOr<Measured> step(io::BatchLoader* loader, int64_t position, int64_t samples, uint64_t seed, int64_t number, bool stop);

  // Waits until the model's parameters and states are those of the last step, as this process has pulled them.
  absl::Status settle();
  // Brings everything, with everybody's steps in it, into the model's memory: parameters, states and slots. In all processes at the same step; those that
  // do not want it wait at most.
  absl::Status collect(bool wanted);
  // What has to be in a checkpoint beside the model's tensors. Requires: collected.
  const Kept& kept() const { return kept_; }
  // Waits for all processes.
  absl::Status close();
  // Ends the job for this reason. Returns the reason, or the job's own if it has failed before.
  absl::Status fail(const absl::Status& why);

 private:
  // The tensor of a key.
  struct Tensor {
    engine::Variable value, contribution, sums, order;
    std::vector<std::vector<char>> places;  // row-major; see SumPlan
    std::vector<uint8_t> filled;            // of each place: has a shard contributed?
    std::vector<char> pulled;               // row-major: of state, what came last. Other values come where the sums lie that were pushed for them
  };

  explicit ShardTraining(Model* model, const Job& job) : model_(model), job_(job) {}

  bool has_tensor(uint32_t key) const { return keys_[key].contribution != plan::kNone; }
  const plan::Buffer& buffer(uint32_t key) const { return model_->view().buffer(keys_[key].buffer); }
  // Where what is pulled comes first.
  char* landing(uint32_t key) { return keys_[key].kind == SharedKey::Kind::state ? tensors_[key].pulled.data() : tensors_[key].places[0].data(); }
  void* memory(uint32_t key) const { return model_->storage().address(buffer(key)); }
  std::string plain_value(uint32_t key) const;
  absl::Status agree(const Agreement& agreement);
  absl::StatusOr<Return> find_place();
  void queue_gate();
  absl::Status open_state();
  absl::Status restore_residuals(uint64_t steps);
  absl::Status bring_up_to_date(uint64_t samples);

  absl::Status push_residuals();
  absl::Status pull_kept();
  void queue_sum(uint32_t key, int64_t own, int64_t n);
  void add_up(uint32_t key, int64_t own, int64_t n);
  void queue_restore(uint32_t key);
  void queue_shard(int64_t own, int64_t n, const std::vector<uint32_t>& weights);
  void queue_push(uint32_t key, const std::vector<uint32_t>& weights);
  void queue_pull(uint32_t key, uint64_t step);
  absl::Status push_now(uint32_t key, const std::vector<std::vector<char>>& parts, const std::vector<uint32_t>& weights);
  absl::Status pull_now(uint32_t key, uint64_t step, char* target);
  absl::StatusOr<Measured> exchange_measures(std::vector<std::vector<double>> shards, const std::vector<uint32_t>& weights);
  std::vector<uint32_t> weights_of(int64_t position, int64_t samples) const;
  absl::Status finish_update();

  Model* model_;
  const Job job_;
  std::shared_ptr<Exchange> exchange_;
  std::unique_ptr<GraphRunner> runner_;
  std::unique_ptr<WholeUpdate> whole_;  // null: servers update
  std::unique_ptr<WorkerState> state_;  // of whole_, if the job waits for its dead; else null
  uint64_t updates_ = 0, kept_updates_ = 0;  // of whole_; in state_
  Shards shards_;
  SumPlan sum_plan_, measure_plan_;  // of tensors; of what is measured
  std::vector<kv::Node> parts_;
  std::vector<SharedKey> keys_;
  std::vector<Tensor> tensors_;  // by key
  std::vector<uint64_t> steps_;  // pushes, by key
  ShardCompression compression_;
  Kept kept_;
  uint64_t collected_ = 0;       // times
  ShardCompression::Mark mark_;  // of the last
  uint32_t measures_ = 0, facts_ = 0;  // keys
  size_t numbers_ = 0;  // that are measured: sums, samples, wishes to stop
  engine::Variable gate_;
  std::vector<double> measured_before_;
  uint64_t steps_before_ = 0;  // this process's first
  kv::Traffic before_;         // likewise
  Overlap overlap_;
};

}  // namespace mxc::train
