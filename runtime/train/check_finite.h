// --check-finite: after each step of a graph, what it has written is looked through for NaN and infinity. The first such tensor ends
// the run, before anything else is computed from it, and is named with its place in the model's source.
//
// Only when asked for: the executor's observer does it. What moves with the iterations of a loop is looked at where it starts.
#pragma once

#include <string>
#include <vector>

#include "runtime/core/executor.h"
#include "runtime/core/plan_view.h"

namespace mxc::train {

class FiniteCheck {
 public:
  // Both outlive this.
  FiniteCheck(const core::PlanView& view, const core::Executor& executor) : view_(view), executor_(executor) {}

  // Forgets what was found; the next run has n samples. `first`: what the graph reads of parameters and state is looked through too (later
  // runs wrote it under this check).
  void start(int64_t n, bool first);
  // For `Executor::run`. A run that it ends returns `stopped`.
  core::Observer observer();

  // "log0 is -inf at [3, 0], computed at net.cpp:7:12 by log0+mean0", or empty.
  const std::string& found() const { return found_; }

 private:
  void check_inputs();
  void check_step(uint32_t step);
  // Where a buffer's first number that is not finite lies, as text; empty if there is none.
  std::string look(const plan::Buffer& buffer, const void* memory);

  const core::PlanView& view_;
  const core::Executor& executor_;
  int64_t n_ = 0;
  bool first_ = true;
  std::string found_;
  std::vector<char> plain_;
};

}  // namespace mxc::train
