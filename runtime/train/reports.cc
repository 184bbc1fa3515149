// See reports.h.
#include "runtime/train/reports.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "runtime/engine/core_status.h"

namespace mxc::train {
namespace {

// The report graph; plan::kNone: there is none.
uint32_t find_report_graph(const core::PlanView& view) {
  for (uint32_t i = 0; i < view.graphs().size(); ++i) {
    const plan::Graph& graph = view.graph(i);
    if (graph.kind == plan::GraphKind::user && std::string_view(view.text(graph.name)) == "report") return i;
  }
  return plan::kNone;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Reports>> Reports::create(Model* model, const GraphRunner& runner) {
  auto reports = std::make_unique<Reports>();
  reports->model_ = model;
  const core::PlanView& view = model->view();
  const std::vector<Scalar>& scalars = runner.scalars();
  const uint32_t index = find_report_graph(view);
  std::set<size_t> parts;
  if (index != plan::kNone) {
    for (const plan::Binding& binding : view.inputs(view.graph(index))) {
      const auto same = [&](const Scalar& scalar) { return scalar.name == view.text(binding.name); };
      const auto found = std::find_if(scalars.begin(), scalars.end(), same);
      if (found == scalars.end()) {
        return absl::InternalError(absl::StrCat("graph '", view.text(runner.graph().name), "' has no metric '", view.text(binding.name), "'"));
      }
      reports->inputs_.push_back({binding.buffer, static_cast<size_t>(found - scalars.begin())});
      parts.insert(reports->inputs_.back().scalar);
    }
  }
  for (size_t i = 0; i < scalars.size(); ++i) {
    if (parts.count(i) != 0) continue;
    reports->shown_.push_back(i);
    reports->names_.push_back(scalars[i].name);
  }
  if (index == plan::kNone) return reports;
  for (const plan::Binding& binding : view.outputs(view.graph(index))) {
    reports->outputs_.push_back(binding.buffer);
    reports->names_.push_back(view.text(binding.name));
  }
  const core::Status status =
      core::Executor::create(model->program(), view, index, model->storage(), model->pool(), &reports->executor_);
  if (!status.ok()) return engine::from_core(status);
  auto compiled = engine::CompiledGraph::create(&reports->executor_, view, model->memory(), {});
  if (!compiled.ok()) return compiled.status();
  reports->compiled_ = *std::move(compiled);
  return reports;
}

absl::StatusOr<std::vector<double>> Reports::values(const std::vector<double>& means) {
  std::vector<double> values;
  for (size_t i : shown_) values.push_back(means[i]);
  if (outputs_.empty()) return values;
  const core::PlanView& view = model_->view();
  for (const Input& input : inputs_)
    core::write_scalar(view.buffer(input.buffer).dtype, executor_.address(input.buffer), means[input.scalar]);
  engine::push_graph(*model_->engine(), compiled_, 1);
  if (absl::Status status = model_->engine()->wait(model_->memory()); !status.ok()) return status;
  for (uint32_t output : outputs_) values.push_back(core::read_scalar(view.buffer(output).dtype, executor_.address(output)));
  return values;
}

}  // namespace mxc::train
