// Updates that look at more than one element: norms of whole parameters (lamb, lars), or the norm of all gradients (clip_norm).
//
// No server sees so much: each holds parts. So servers hold the sums of gradients alone, and each process updates all parameters itself by the program's
// graph "update_whole", from the same sums with the same code: the processes keep the same bits without telling each other. A step moves as many bytes as
// it does otherwise: a sum instead of a value. What it needs is that every sum reaches every process once, which dist_sync alone promises.
//
// The graph reads gradients where the graph "gradients" leaves them: what is pulled is put there.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/train/key_updates.h"
#include "runtime/train/model.h"

namespace mxc::train {

class WholeUpdate {
 public:
  // Whether the program updates so.
  static bool is_in(const core::PlanView& view);

  // `bound`: variables of parameters and gradients. The model must outlive it.
  static absl::StatusOr<std::unique_ptr<WholeUpdate>> create(Model* model, const std::vector<engine::BoundVariable>& bound);
  void watch(Overlap* overlap) { runner_->watch(overlap); }
  void begin(UpdateRules rules) { rules_ = std::move(rules); }

  // Queues update number `step` (from 1), of a sum over so many samples. Between this and `finish` no hyper-parameters of the model are written.
  void start(uint64_t step, uint64_t samples);
  // Waits for it, if one is under way.
  absl::Status finish();

  // What it keeps between steps: parameters of these buffers, and the optimizer's state.
  std::vector<std::span<char>> memory(const std::vector<uint32_t>& parameters) const;
  // A number for what it keeps of it beside parameters: processes begin with the same.
  uint64_t state_hash() const;

 private:
  Model* model_ = nullptr;
  std::unique_ptr<GraphRunner> runner_;
  UpdateRules rules_;
  bool under_way_ = false;
};

}  // namespace mxc::train
