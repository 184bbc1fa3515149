// See graph_part.h.
#include "runtime/executor/graph_part.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/core/layout.h"
#include "runtime/engine/core_status.h"
#include "runtime/executor/state.h"

namespace mxc::executor {

PendingRun::~PendingRun() {
  if (finished) return;
  state->failed.store(true, std::memory_order_relaxed);
  state->group->failed.store(true, std::memory_order_relaxed);
}

absl::StatusOr<std::shared_ptr<GraphPart>> GraphPart::create(const plan::Program& program, const core::PlanView& view, uint32_t graph,
                                                             const core::Selection& selection, core::Storage& storage, Group& group,
                                                             const std::vector<Binding>& bindings) {
  std::shared_ptr<GraphPart> part(new GraphPart);
  part->view_ = &view;
  part->storage_ = &storage;
  part->group_ = &group;
  core::Status status = core::Executor::create(program, view, graph, storage, &group.pool(), &part->executor_, &selection);
  if (!status.ok()) return engine::from_core(status);
  std::vector<engine::BoundVariable> variables;
  for (const Binding& binding : bindings) {
    if (binding.place.memory != part->executor_.address(binding.buffer)) {
      status = part->executor_.bind(binding.buffer, binding.place.memory);
      if (!status.ok()) return engine::from_core(status);
    }
    variables.push_back({binding.buffer, binding.place.chunk->variable});
    if (part->executor_.use(binding.buffer).first_write >= 0) part->written_.push_back(binding.place.chunk);
  }
  auto compiled = engine::CompiledGraph::create(&part->executor_, view, group.memory(), variables);
  if (!compiled.ok()) return compiled.status();
  part->compiled_ = *std::move(compiled);
  part->last_writer_.assign(view.buffers().size(), plan::kNone);
  part->note_writers(view.block(view.graph(graph).block));
  part->seed_ = view.find_hyper("seed");
  part->step_ = view.find_hyper("step");
  part->quiet_ = part->observer(false);
  part->monitoring_ = part->observer(true);
  return part;
}

void GraphPart::note_writers(const plan::Block& block) {
  for (const plan::Item& item : view_->items(block)) {
    if (item.kind == plan::ItemKind::block) {
      note_writers(view_->block(item.index));
      continue;
    }
    for (const plan::Arg& arg : view_->args(view_->step(item.index))) {
      if (arg.access != plan::Access::read) last_writer_[arg.buffer] = item.index;
    }
  }
}

core::Observer GraphPart::observer(bool monitored) {
  core::Observer observer;
  observer.context = this;
  observer.item_end = [](void* context, uint32_t item) {
    GraphPart& part = *static_cast<GraphPart*>(context);
    if (item + 1 == part.executor_.top_level_items()) part.running_->finished = true;
  };
  if (monitored) observer.step_end = [](void* context, uint32_t step) { static_cast<GraphPart*>(context)->look(step); };
  return observer;
}

// On the running thread, before the first item.
absl::Status GraphPart::begin(PendingRun& run) {
  running_ = &run;
  if (group_->mapped_bytes() < view_->devices()[0].arena_bytes) return absl::InternalError("the arena is too small");
  if (arena_ != group_->arena()) {
    arena_ = group_->arena();
    storage_->lend_arena(0, group_->arena());
    executor_.follow_storage();
  }
  for (uint32_t hyper = 0; hyper < view_->hypers().size(); ++hyper) storage_->set_hyper(*view_, hyper, (*run.hypers)[hyper]);
  if (seed_ != plan::kNone) storage_->set_hyper_integer(*view_, seed_, run.seed);
  if (step_ != plan::kNone) storage_->set_hyper_integer(*view_, step_, run.step);
  run.finished = executor_.top_level_items() == 0;
  return absl::OkStatus();
}

void GraphPart::push(Group& group, std::shared_ptr<PendingRun> run) {
  for (const ndarray::ChunkRef& chunk : written_) ndarray::begin_write(*chunk);
  const int64_t n = run->n;
  const core::Observer* observer = run->watched.empty() ? &quiet_ : &monitoring_;
  engine::push_graph(group.engine(), compiled_, n, /*priority=*/0, [this, run = std::move(run)] { return begin(*run); }, observer);
}

// Copies what the step has completed and the run is to look at.
void GraphPart::look(uint32_t step) {
  PendingRun& run = *running_;
  for (const plan::Arg& arg : view_->args(view_->step(step))) {
    if (arg.access == plan::Access::read || last_writer_[arg.buffer] != step || !run.watched[arg.buffer]) continue;
    const plan::Buffer& buffer = view_->buffer(arg.buffer);
    Seen seen{view_->text(buffer.name), buffer.dtype, {}, std::vector<char>(core::plain_bytes(buffer, run.n))};
    for (int axis = 0; axis < buffer.rank; ++axis) seen.shape.push_back(core::extent(buffer, axis, run.n));
    core::unpack(buffer, run.n, executor_.address(arg.buffer), seen.bytes.data());
    run.seen.push_back(std::move(seen));
  }
}

}  // namespace mxc::executor
