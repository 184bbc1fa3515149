// A graph compiled by the passes and by codegen, loaded into this process, and run by the runtime's executor.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/core/executor.h"
#include "tests/compiler/codegen/jit.h"
#include "tests/compiler/ops/graph.h"

namespace mxc::ops_test {

class Program {
 public:
  // Null after a diagnostic. `disabled`: passes to switch off. The graph is used up.
  static std::unique_ptr<Program> compile(Graph& graph, const std::vector<std::string>& disabled);

  // Runs with n samples. What no sample owns is NaN or -1 before. Threads: `threads` share each step.
  Arrays run(const Arrays& arguments, int64_t n, int threads);

 private:
  std::unique_ptr<Jit> jit_;
  const plan::Program* program_ = nullptr;
  core::PlanView view_;
  size_t arguments_ = 0, results_ = 0;
};

}  // namespace mxc::ops_test
