// See whole_update.h.
#include "runtime/train/whole_update.h"

#include <utility>

#include "runtime/core/fnv.h"

namespace mxc::train {

namespace {

constexpr char kGraph[] = "update_whole";

}  // namespace

bool WholeUpdate::is_in(const core::PlanView& view) { return view.find_graph(kGraph) != plan::kNone; }

absl::StatusOr<std::unique_ptr<WholeUpdate>> WholeUpdate::create(Model* model, const std::vector<engine::BoundVariable>& bound) {
  auto made = std::make_unique<WholeUpdate>();
  made->model_ = model;
  auto runner = GraphRunner::create(model, model->view().find_graph(kGraph), bound);
  if (!runner.ok()) return runner.status();
  made->runner_ = *std::move(runner);
  return made;
}

void WholeUpdate::start(uint64_t step, uint64_t samples) {
  set_hypers(model_->view(), model_->storage(), rules_, static_cast<int64_t>(step) - 1, samples);
  runner_->start();
  under_way_ = true;
}

absl::Status WholeUpdate::finish() {
  return std::exchange(under_way_, false) ? runner_->finish() : absl::OkStatus();
}

std::vector<std::span<char>> WholeUpdate::memory(const std::vector<uint32_t>& parameters) const {
  std::vector<std::span<char>> memory;
  auto add = [&](const plan::Buffer& buffer) { memory.push_back({static_cast<char*>(model_->storage().address(buffer)), buffer.bytes}); };
  for (uint32_t parameter : parameters) add(model_->view().buffer(parameter));
  for (const plan::Binding& slot : model_->view().optimizer_slots()) add(model_->view().buffer(slot.buffer));
  return memory;
}

uint64_t WholeUpdate::state_hash() const {
  uint64_t hash = core::kFnv;
  for (const plan::Binding& slot : model_->view().optimizer_slots()) {
    const plan::Buffer& buffer = model_->view().buffer(slot.buffer);
    hash = core::fnv(hash, model_->storage().address(buffer), buffer.bytes);
  }
  return hash;
}

}  // namespace mxc::train
