// See evaluate.h.
#include "runtime/train/evaluate.h"

#include <numeric>

#include "absl/strings/str_cat.h"
#include "runtime/io/read_file.h"
#include "runtime/io/sources.h"
#include "runtime/train/checkpoint.h"

namespace mxc::train {

absl::StatusOr<std::unique_ptr<Evaluator>> Evaluator::create(Model* model, GraphRunner* runner, const io::Dataset& dataset,
                                                             int64_t batch) {
  if (absl::Status status = runner->attach(dataset); !status.ok()) return status;
  auto reports = Reports::create(model, *runner);
  if (!reports.ok()) return reports.status();
  return std::unique_ptr<Evaluator>(new Evaluator(model, runner, *std::move(reports), dataset, batch));
}

absl::StatusOr<std::vector<double>> Evaluator::evaluate(const Interrupt* interrupt) {
  std::vector<int64_t> order(dataset_.count());
  std::iota(order.begin(), order.end(), int64_t{0});
  loader_.start(std::move(order));
  std::vector<double> sums(runner_->scalars().size(), 0);
  int64_t seen = 0;
  while (interrupt == nullptr || !interrupt->requested()) {
    auto batch = loader_.next();
    if (!batch.ok()) return batch.status();
    if (*batch == nullptr) break;
    if (absl::Status status = runner_->run(**batch); !status.ok()) return status;
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += runner_->scalar(runner_->scalars()[i]) * static_cast<double>((*batch)->n);
    seen += (*batch)->n;
  }
  for (double& sum : sums) sum /= static_cast<double>(std::max<int64_t>(1, seen));
  return reports_->values(sums);
}

absl::StatusOr<int64_t> choose_batch(const GraphRunner& runner, std::optional<int64_t> asked) {
  if (runner.batch() <= 0) return absl::UnimplementedError("a graph without a batch axis cannot read a data set");
  return asked.value_or(runner.batch());
}

absl::Status load_trained(const Model& model, const std::string& path) {
  if (!io::file_exists(path)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": no such file; train the model first, or name its checkpoint with --load"));
  }
  return load_parameters(model, path);
}

absl::Status run_eval(Model* model, const Options& options, FILE* out) {
  auto runner = GraphRunner::create(model, plan::GraphKind::eval);
  if (!runner.ok()) return runner.status();
  auto batch = choose_batch(**runner, options.batch);
  if (!batch.ok()) return batch.status();
  if (absl::Status status = load_trained(*model, options.load); !status.ok()) return status;
  auto data = io::open_data(options.data, (*runner)->inputs());
  if (!data.ok()) return data.status();
  const io::Dataset& dataset = data->test != nullptr ? *data->test : *data->train;
  auto evaluator = Evaluator::create(model, runner->get(), dataset, *batch);
  if (!evaluator.ok()) return evaluator.status();
  auto values = (*evaluator)->evaluate(nullptr);
  if (!values.ok()) return values.status();
  std::fprintf(out, "samples %lld\n", static_cast<long long>(dataset.count()));
  for (size_t i = 0; i < values->size(); ++i) {
    std::fprintf(out, "%s %.6g\n", (*evaluator)->names()[i].c_str(), (*values)[i]);
  }
  return absl::OkStatus();
}

}  // namespace mxc::train
