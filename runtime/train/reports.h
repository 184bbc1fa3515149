// What progress, logs and `eval` show of the scalars that a graph gives.
//
// A graph's losses and metrics are means over the n samples of a run, so that means weighted by n are right for any number of samples.
// A number that is no mean, such as the root of one, is right only as a function of means over all samples. The compiler cuts it:
// the graph gives the means as metrics, and a graph of kind `user` called "report" has them as inputs of the same names and the number
// as a metric of its own. Here that graph is run on the means of all samples; its inputs are not shown.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/train/model.h"

namespace mxc::train {

class Reports {
 public:
  // For the scalars of `runner`'s graph. The model must outlive it.
  static absl::StatusOr<std::unique_ptr<Reports>> create(Model* model, const GraphRunner& runner);

  // What is shown: losses first, then metrics; those of the report graph last.
  const std::vector<std::string>& names() const { return names_; }
  // One value a name, from the means of the runner's scalars in their order.
  absl::StatusOr<std::vector<double>> values(const std::vector<double>& means);

 private:
  struct Input {
    uint32_t buffer;
    size_t scalar;
  };

  Model* model_ = nullptr;
  std::vector<std::string> names_;
  std::vector<size_t> shown_;  // scalars that are shown as they are
  // Of the report graph; empty without one.
  core::Executor executor_;
  engine::CompiledGraph compiled_;
  std::vector<Input> inputs_;
  std::vector<uint32_t> outputs_;
};

}  // namespace mxc::train
