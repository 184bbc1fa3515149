// See graph_part.h.
#include "runtime/executor/graph_part.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/core/layout.h"
#include "runtime/engine/core_status.h"
#include "runtime/executor/state.h"

namespace mxc::executor {

absl::StatusOr<std::shared_ptr<GraphPart>> GraphPart::create(const plan::Program& program, const core::PlanView& view, uint32_t graph,
                                                             const core::Selection& selection, core::Storage& storage, Group& group,
                                                             const std::vector<Binding>& bindings, bool anew) {
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
    variables.push_back({binding.buffer, binding.place.chunk->variable, binding.forget});
    const core::Use use = part->executor_.use(binding.buffer);
    if (use.first_write >= 0) part->written_.push_back(binding.place.chunk);
    if (use.first_read >= 0) part->read_.push_back(binding.place.chunk);
  }
  auto compiled = engine::CompiledGraph::create(&part->executor_, view, group.memory(), variables, anew);
  if (!compiled.ok()) return compiled.status();
  part->compiled_ = *std::move(compiled);
  part->last_writer_.assign(view.buffers().size(), plan::kNone);
  part->first_reader_.assign(view.buffers().size(), plan::kNone);
  part->note_uses(view.block(view.graph(graph).block));
  part->leave_out_what_changes();
  part->seed_ = view.find_hyper("seed");
  part->step_ = view.find_hyper("step");
  part->monitoring_.context = part.get();
  part->monitoring_.step_end = [](void* context, uint32_t step) { static_cast<GraphPart*>(context)->look(step); };
  return part;
}

void GraphPart::note_uses(const plan::Block& block) {
  for (const plan::Item& item : view_->items(block)) {
    if (item.kind == plan::ItemKind::block) {
      note_uses(view_->block(item.index));
      continue;
    }
    for (const plan::Arg& arg : view_->args(view_->step(item.index))) {
      if (arg.access != plan::Access::read) {
        last_writer_[arg.buffer] = item.index;
      } else if (first_reader_[arg.buffer] == plan::kNone) {
        first_reader_[arg.buffer] = item.index;
      }
    }
  }
}

// Of `first_reader_` inputs, parameters and state stay that no step writes, be it through another buffer at the same place.
void GraphPart::leave_out_what_changes() {
  std::vector<std::pair<plan::Space, uint64_t>> written;
  for (uint32_t i = 0; i < last_writer_.size(); ++i) {
    const plan::Buffer& buffer = view_->buffer(i);
    if (last_writer_[i] != plan::kNone && buffer.space != plan::Space::arena) written.emplace_back(buffer.space, buffer.offset);
  }
  std::sort(written.begin(), written.end());
  for (uint32_t i = 0; i < first_reader_.size(); ++i) {
    const plan::Buffer& buffer = view_->buffer(i);
    const bool stays = buffer.space != plan::Space::arena && buffer.role != plan::Role::hyper &&
                       !std::binary_search(written.begin(), written.end(), std::pair(buffer.space, buffer.offset));
    if (!stays) first_reader_[i] = plan::kNone;
  }
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
  return absl::OkStatus();
}

void GraphPart::push(Group& group, std::shared_ptr<PendingRun> run) {
  for (const ndarray::ChunkRef& chunk : written_) ndarray::begin_write(*chunk);
  const int64_t n = run->n;
  const core::Observer* observer = run->watched.empty() ? nullptr : &monitoring_;
  engine::push_graph(group.engine(), compiled_, n, /*priority=*/0, [this, run = std::move(run)] { return begin(*run); }, observer);
}

// Copies what the run is to look at: what the step has completed, and what comes from outside and is read for the first time.
void GraphPart::look(uint32_t step) {
  const auto args = view_->args(view_->step(step));
  for (const plan::Arg& arg : args) {
    if (arg.access == plan::Access::read && first_reader_[arg.buffer] == step) show(arg.buffer);
  }
  for (const plan::Arg& arg : args) {
    if (arg.access != plan::Access::read && last_writer_[arg.buffer] == step) show(arg.buffer);
  }
}

void GraphPart::show(uint32_t index) {
  PendingRun& run = *running_;
  if (!run.watched[index]) return;
  const plan::Buffer& buffer = view_->buffer(index);
  Seen seen{run.state->shown_name(index), buffer.dtype, {}, std::vector<char>(core::plain_bytes(buffer, run.n))};
  for (int axis = 0; axis < buffer.rank; ++axis) seen.shape.push_back(core::extent(buffer, axis, run.n));
  core::unpack(buffer, run.n, executor_.address(index), seen.bytes.data());
  run.seen.push_back(std::move(seen));
}

}  // namespace mxc::executor
