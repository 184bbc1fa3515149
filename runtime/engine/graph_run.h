// CompiledGraph: a graph of the Plan as one operation of the engine.
//
// It enters the engine whole, and its steps cost what they cost in the executor. Yet each variable bound to its buffers is held only
// from the first top-level item that touches the buffers to the last: as reader before the first writer, as writer while
// items write, as reader again if later items still read. So an input may still be on its way when the graph starts, and an
// output is handed on when its last writer has ended, while later steps run.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/core/executor.h"
#include "runtime/engine/engine.h"

namespace mxc::engine {

// The memory of a buffer belongs to a variable. Several buffers may share a variable. A run that fails is an attempt (Traits); `forget`
// says which errors of earlier operations a run looks past: passing ones of what is kept from run to run, all of what is made anew.
struct BoundVariable {
  uint32_t buffer;
  Variable variable;
  Forget forget = Forget::nothing;  // everything: if the graph writes it first
};

// What is called before a run. A capture of up to 32 bytes costs no allocation.
using Prepare = SmallFunction<absl::Status(), 32>;

class CompiledGraph {
 public:
  // `memory` is the variable of the storage that the executor runs in: it is mutated during the whole run, so that graphs in one
  // arena run one after the other. `anew`: the graph reads nothing that an earlier run left in it, so that its error is no matter.
  // Buffers of `bound` that the graph does not touch are left out. The executor and the Plan must outlive every run.
  static absl::StatusOr<CompiledGraph> create(core::Executor* executor, const core::PlanView& view, Variable memory,
                                              const std::vector<BoundVariable>& bound, bool anew = false);

  const std::vector<Hold>& holds() const { return holds_; }

 private:
  friend void push_graph(Engine&, const CompiledGraph&, int64_t, int32_t, Prepare, const core::Observer*);

  core::Executor* executor_ = nullptr;
  core::PlanView view_;
  std::vector<Hold> holds_;
};

// Queues a run with n samples. `prepare` (may be empty) is called before the first item, on the running thread: the place to set
// hyper-parameters and to bind caller memory. A wrong n ends the operation with InvalidArgument. `observer` (may be null) is told of
// items and steps, and outlives the run. With a trace, each step is an event of its own, with the bytes of its arguments.
void push_graph(Engine& engine, const CompiledGraph& graph, int64_t n, int32_t priority = 0, Prepare prepare = nullptr,
                const core::Observer* observer = nullptr);

}  // namespace mxc::engine
