// Loss and metrics over a whole data set, and the verb `eval`.
#pragma once

#include <cstdio>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/io/batch_loader.h"
#include "runtime/train/interrupt.h"
#include "runtime/train/model.h"
#include "runtime/train/options.h"
#include "runtime/train/reports.h"

namespace mxc::train {

class Evaluator {
 public:
  // `batch` samples a run. The model, its runner and the data set must outlive the evaluator.
  static absl::StatusOr<std::unique_ptr<Evaluator>> create(Model* model, GraphRunner* runner, const io::Dataset& dataset,
                                                           int64_t batch);

  // What the numbers of `evaluate` are called.
  const std::vector<std::string>& names() const { return reports_->names(); }
  // What is shown of the runner's scalars (reports.h), from their means over all samples, each run weighted by its n. Stops early, with
  // what it has, if an interrupt is requested (null: never).
  absl::StatusOr<std::vector<double>> evaluate(const Interrupt* interrupt);

 private:
  Evaluator(Model* model, GraphRunner* runner, std::unique_ptr<Reports> reports, const io::Dataset& dataset, int64_t batch)
      : runner_(runner), reports_(std::move(reports)), dataset_(dataset), loader_(dataset, batch, model->engine()) {}

  GraphRunner* runner_;
  std::unique_ptr<Reports> reports_;
  const io::Dataset& dataset_;
  io::BatchLoader loader_;
};

// The batch size asked for, or the compiled one. Requires: what is asked for is at least 1 and at most the compiled one.
// Error (unimplemented): the graph has no batch axis.
absl::StatusOr<int64_t> choose_batch(const GraphRunner& runner, std::optional<int64_t> asked);

// Loads the trained parameters for eval and predict; the error for a missing file says how to get one.
absl::Status load_trained(const Model& model, const std::string& path);

absl::Status run_eval(Model* model, const Options& options, FILE* out);

}  // namespace mxc::train
