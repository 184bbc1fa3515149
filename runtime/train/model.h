// A Plan made ready to run: its memory, its threads and engine, its graphs, its hyper-parameters.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/core/executor.h"
#include "runtime/core/plan_view.h"
#include "runtime/core/storage.h"
#include "runtime/core/thread_pool.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/graph_run.h"
#include "runtime/io/batch_loader.h"
#include "runtime/io/dataset.h"
#include "runtime/train/check_finite.h"
#include "runtime/train/overlap.h"

namespace mxc::train {

class Model {
 public:
  // `threads` compute together; 0: one per CPU. `naive` takes the serial engine. The program must outlive the model.
  // Hyper-parameters start at their defaults. There is no memory for the graphs of several shards.
  static absl::StatusOr<std::unique_ptr<Model>> open(const plan::Program& program, int threads, bool naive);

  // From now on there is. All memory is made anew. Requires: it has not been used, nor a graph's runner been made.
  absl::Status reserve_for_shards();

  const plan::Program& program() const { return program_; }
  const core::PlanView& view() const { return view_; }
  const core::Storage& storage() const { return storage_; }
  core::ThreadPool* pool() { return &pool_; }
  // What everything runs through, and the variable that stands for the storage.
  engine::Engine* engine() { return engine_.get(); }
  const engine::Variable& memory() const { return memory_; }
  int threads() const { return pool_.threads(); }

  std::string name() const;
  std::string fact(const char* key, const char* fallback = "") const;

  // Writes a hyper-parameter if the program has one of that name. Integers arrive exactly in integer buffers.
  void set_hyper(const char* name, double value);
  void set_integer(const char* name, uint64_t value);

 private:
  explicit Model(const plan::Program& program) : program_(program) {}

  absl::Status reserve(core::Graphs graphs);

  const plan::Program& program_;
  core::PlanView view_;
  core::Storage storage_;
  core::ThreadPool pool_;
  std::unique_ptr<engine::Engine> engine_;  // last: it ends before what its operations use
  engine::Variable memory_;
};

const char* graph_kind_name(plan::GraphKind kind);

// `fields` and, after them, those inputs of the program's graph of a kind that are not among them. Without such a graph: `fields`.
std::vector<io::Field> with_inputs_of(const core::PlanView& view, plan::GraphKind kind, std::vector<io::Field> fields,
                                      bool optional);

// A scalar that a graph reports: its loss or a metric.
struct Scalar {
  std::string name;
  bool is_loss;
  uint32_t buffer;
};

// One graph of a model, ready to run on batches of a data set.
class GraphRunner {
 public:
  // Error (unimplemented): the program has no graph of this kind.
  static absl::StatusOr<std::unique_ptr<GraphRunner>> create(Model* model, plan::GraphKind kind);
  // The graph of this index. Its runs hold each of the variables only over the steps that touch its buffer.
  static absl::StatusOr<std::unique_ptr<GraphRunner>> create(Model* model, uint32_t graph, const std::vector<engine::BoundVariable>& bound);

  int64_t batch() const { return graph().batch; }
  const plan::Graph& graph() const;

  // What the graph reads, as fields to ask a data set for.
  const std::vector<io::Field>& inputs() const { return inputs_; }
  // Losses first, then metrics, in the program's order.
  const std::vector<Scalar>& scalars() const { return scalars_; }

  // Says which data set the following batches come from. Error (invalid argument): it lacks an input.
  absl::Status attach(const io::Dataset& dataset);

  // From here on a run that computes a NaN or an infinity is an error (invalid argument) that names the tensor.
  void check_finite() { check_ = std::make_unique<FiniteCheck>(model_->view(), executor_); }

  // From here on the meter, which outlives the runs, is told when they compute and when they wait.
  void watch(Overlap* overlap) { overlap_ = overlap; }

  // Runs on a batch of the attached data set, as one operation of the engine, and waits for it.
  absl::Status run(const io::Batch& batch);
  // The same in two parts: it is queued; it has ended. The batch outlives the run.
  void start(const io::Batch& batch);
  absl::Status finish();
  // The same of a graph that reads no batch.
  absl::Status run();
  void start();

  // After a run: a reported scalar; an output of kind `output` as samples one after another (in the buffer's dtype), or the
  // whole row-major value if it has no batch axis.
  double scalar(const Scalar& scalar) const;
  std::vector<char> read(uint32_t buffer, int64_t n) const;

 private:
  struct Input {
    uint32_t buffer;
    int field;                 // of the attached data set
    std::vector<char> memory;  // for inputs that must be packed; aligned by `aligned`
    void* aligned = nullptr;
  };

  absl::Status bind(const io::Batch& batch);
  const core::Observer* observer();

  Model* model_ = nullptr;
  uint32_t index_ = 0;
  core::Executor executor_;
  engine::CompiledGraph compiled_;
  std::vector<io::Field> inputs_;
  std::vector<Input> bound_;  // parallel to inputs_
  std::vector<Scalar> scalars_;
  std::vector<char> scratch_;
  std::unique_ptr<FiniteCheck> check_;  // null: not asked for
  bool checked_ = false;                // a run has been checked
  Overlap* overlap_ = nullptr;          // null: nobody wants to know
  core::Observer observer_, next_;      // of the run in progress; whom it tells
};

}  // namespace mxc::train
