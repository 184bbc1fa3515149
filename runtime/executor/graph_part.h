// GraphPart: a graph of the Plan, or some of its top-level items, ready to be queued: bound to the memory and variables of an executor's
// tensors. forward(true) and backward are two parts of one graph.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/core/executor.h"
#include "runtime/engine/graph_run.h"
#include "runtime/executor/group.h"

namespace mxc::executor {

struct State;
class GraphPart;

// A buffer of the Plan that lies elsewhere than the Plan says, or whose variable is known outside.
struct Binding {
  uint32_t buffer;
  Place place;
  engine::Forget forget;  // which errors of its variable a run looks past
};

// A tensor that a monitored run computed.
struct Seen {
  std::string name;
  plan::DType dtype;
  std::vector<int64_t> shape;
  std::vector<char> bytes;  // row-major
};

// One queued run. It keeps the executor alive.
struct PendingRun {
  std::shared_ptr<State> state;
  std::shared_ptr<GraphPart> part;
  std::shared_ptr<const std::vector<double>> hypers;  // by hyper-parameter of the Plan
  uint64_t seed = 0, step = 0;
  int64_t n = 1;
  // Of a monitored run: by buffer, is it looked at? Else empty.
  std::vector<uint8_t> watched;
  std::vector<Seen> seen;  // written by the operation
};

class GraphPart {
 public:
  // `bindings`: of all buffers of inputs, results and persistent tensors; those that the part does not touch are ignored. `anew`: the part
  // reads nothing that a run before it left in the arena.
  static absl::StatusOr<std::shared_ptr<GraphPart>> create(const plan::Program& program, const core::PlanView& view, uint32_t graph,
                                                           const core::Selection& selection, core::Storage& storage, Group& group,
                                                           const std::vector<Binding>& bindings, bool anew);

  // Queues a run. `run->part` is this part. Requires: the group's mutex.
  void push(Group& group, std::shared_ptr<PendingRun> run);

  // What a run mutates of `bindings`, and what it reads.
  const std::vector<ndarray::ChunkRef>& written() const { return written_; }
  const std::vector<ndarray::ChunkRef>& read() const { return read_; }

 private:
  GraphPart() = default;
  absl::Status begin(PendingRun& run);
  void look(uint32_t step);
  void note_uses(const plan::Block& block);
  void leave_out_what_changes();
  void show(uint32_t buffer);

  const core::PlanView* view_ = nullptr;
  core::Storage* storage_ = nullptr;
  Group* group_ = nullptr;  // kept by the run's state
  core::Executor executor_;
  engine::CompiledGraph compiled_;
  core::Observer monitoring_;
  std::vector<ndarray::ChunkRef> written_, read_;
  std::vector<uint32_t> last_writer_;   // by buffer: the last step of the graph that writes it; or kNone
  std::vector<uint32_t> first_reader_;  // by buffer: the first step of the graph that reads it; kNone: or if the graph makes it or changes it
  uint32_t seed_ = plan::kNone, step_ = plan::kNone;  // hyper-parameters
  // Of the run in progress; they belong to the group's `memory`.
  PendingRun* running_ = nullptr;
  const void* arena_ = nullptr;        // that the addresses are of
};

}  // namespace mxc::executor
