// See model.h.
#include "runtime/train/model.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/core/layout.h"
#include "runtime/engine/core_status.h"
#include "runtime/io/program_tensors.h"
#include "runtime/io/samples.h"

namespace mxc::train {
namespace {

void* align(char* memory) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(memory);
  return reinterpret_cast<void*>((address + plan::kAlign - 1) / plan::kAlign * plan::kAlign);
}

}  // namespace

const char* graph_kind_name(plan::GraphKind kind) {
  switch (kind) {
    case plan::GraphKind::init: return "init";
    case plan::GraphKind::train: return "train";
    case plan::GraphKind::eval: return "eval";
    case plan::GraphKind::infer: return "infer";
    case plan::GraphKind::update: return "update";
    case plan::GraphKind::user: return "user";
  }
  return "?";
}

absl::StatusOr<std::unique_ptr<Model>> Model::open(const plan::Program& program, int threads, bool naive) {
  std::unique_ptr<Model> model(new Model(program));
  if (core::Status status = core::PlanView::open(program, &model->view_); !status.ok()) return engine::from_core(status);
  if (core::Status status = core::ThreadPool::create(threads, &model->pool_); !status.ok()) return engine::from_core(status);
  auto engine = engine::Engine::create({.naive = naive});
  if (!engine.ok()) return engine.status();
  model->engine_ = *std::move(engine);
  if (absl::Status status = model->reserve(core::Graphs::alone); !status.ok()) return status;
  return model;
}

absl::Status Model::reserve_for_shards() { return reserve(core::Graphs::all); }

absl::Status Model::reserve(core::Graphs graphs) {
  core::Status status = core::Storage::create(view_, &storage_, core::Arenas::own, graphs);
  if (!status.ok()) return engine::from_core(status);
  storage_.set_default_hypers(view_);
  uint64_t bytes = 0;
  for (uint16_t device = 0; device < view_.devices().size(); ++device) {
    const core::AreaBytes of_device = core::area_bytes(view_, device, graphs);
    bytes += of_device.arena + of_device.persistent + of_device.io;
  }
  memory_ = engine_->variable("memory", bytes);
  return absl::OkStatus();
}

std::string Model::name() const { return io::program_name(view_); }

std::string Model::fact(const char* key, const char* fallback) const { return io::program_fact(view_, key, fallback); }

void Model::set_hyper(const char* name, double value) {
  const uint32_t hyper = view_.find_hyper(name);
  if (hyper != plan::kNone) storage_.set_hyper(view_, hyper, value);
}

void Model::set_integer(const char* name, uint64_t value) {
  const uint32_t hyper = view_.find_hyper(name);
  if (hyper != plan::kNone) storage_.set_hyper_integer(view_, hyper, value);
}

std::vector<io::Field> with_inputs_of(const core::PlanView& view, plan::GraphKind kind, std::vector<io::Field> fields,
                                      bool optional) {
  const uint32_t graph = view.find_graph(kind);
  if (graph == plan::kNone) return fields;
  for (const plan::Binding& binding : view.inputs(view.graph(graph))) {
    const plan::Buffer& buffer = view.buffer(binding.buffer);
    const std::string name = view.text(binding.name);
    const bool known = std::any_of(fields.begin(), fields.end(), [&](const io::Field& field) { return field.name == name; });
    if (!known && buffer.batch_axis >= 0)
      fields.push_back({name, buffer.dtype, io::sample_shape(buffer), buffer.upper_bound, optional});
  }
  return fields;
}

absl::StatusOr<std::unique_ptr<GraphRunner>> GraphRunner::create(Model* model, plan::GraphKind kind) {
  const core::PlanView& view = model->view();
  const uint32_t index = view.find_graph(kind);
  if (index == plan::kNone) return absl::UnimplementedError(absl::StrCat("this program has no ", graph_kind_name(kind), " graph"));
  return create(model, index, {});
}

absl::StatusOr<std::unique_ptr<GraphRunner>> GraphRunner::create(Model* model, uint32_t index,
                                                                 const std::vector<engine::BoundVariable>& bound) {
  const core::PlanView& view = model->view();
  auto runner = std::make_unique<GraphRunner>();
  runner->model_ = model;
  runner->index_ = index;
  const core::Status status =
      core::Executor::create(model->program(), view, index, model->storage(), model->pool(), &runner->executor_);
  if (!status.ok()) return engine::from_core(status);
  auto compiled = engine::CompiledGraph::create(&runner->executor_, view, model->memory(), bound);
  if (!compiled.ok()) return compiled.status();
  runner->compiled_ = *std::move(compiled);

  for (const plan::Binding& binding : view.inputs(view.graph(index))) {
    const plan::Buffer& buffer = view.buffer(binding.buffer);
    if (buffer.batch_axis < 0) {
      return absl::UnimplementedError(absl::StrCat("input '", view.text(binding.name), "' without a batch axis"));
    }
    runner->inputs_.push_back({view.text(binding.name), buffer.dtype, io::sample_shape(buffer), buffer.upper_bound, false});
    Input input{binding.buffer, -1, {}, nullptr};
    if (!io::is_sample_major(buffer)) {
      input.memory.resize(buffer.bytes + plan::kAlign);
      input.aligned = align(input.memory.data());
    }
    runner->bound_.push_back(std::move(input));
  }
  for (plan::OutputKind wanted : {plan::OutputKind::loss, plan::OutputKind::metric}) {
    for (const plan::Binding& binding : view.outputs(view.graph(index))) {
      if (binding.kind != wanted) continue;
      runner->scalars_.push_back({view.text(binding.name), wanted == plan::OutputKind::loss, binding.buffer});
    }
  }
  return runner;
}

const plan::Graph& GraphRunner::graph() const { return model_->view().graph(index_); }

absl::Status GraphRunner::attach(const io::Dataset& dataset) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    bound_[i].field = dataset.find(inputs_[i].name);
    if (bound_[i].field < 0) {
      return absl::InvalidArgumentError(absl::StrCat("the data have nothing for the model's input '", inputs_[i].name, "'"));
    }
  }
  return absl::OkStatus();
}

absl::Status GraphRunner::bind(const io::Batch& batch) {
  for (Input& input : bound_) {
    void* memory = batch.fields[input.field];
    if (input.aligned != nullptr) {
      io::pack_samples(model_->view().buffer(input.buffer), batch.n, memory, &scratch_, input.aligned);
      memory = input.aligned;
    }
    if (core::Status status = executor_.bind(input.buffer, memory); !status.ok()) return engine::from_core(status);
  }
  return absl::OkStatus();
}

absl::Status GraphRunner::run(const io::Batch& batch) {
  start(batch);
  return finish();
}

void GraphRunner::start(const io::Batch& batch) {
  if (check_ != nullptr) check_->start(batch.n, !std::exchange(checked_, true));
  engine::push_graph(*model_->engine(), compiled_, batch.n, /*priority=*/0, [this, &batch] { return bind(batch); }, observer());
}

// The check's, or one that tells the meter of items, between which a run may wait, and hands on to the check.
const core::Observer* GraphRunner::observer() {
  next_ = check_ == nullptr ? core::Observer() : check_->observer();
  observer_ = next_;
  if (overlap_ == nullptr) return check_ == nullptr ? nullptr : &observer_;
  observer_.context = this;
  observer_.item_begin = [](void* context, uint32_t item) {
    GraphRunner& self = *static_cast<GraphRunner*>(context);
    if (self.next_.item_begin != nullptr && !self.next_.item_begin(self.next_.context, item)) return false;
    self.overlap_->begin(Overlap::Kind::computing, Overlap::clock());
    return true;
  };
  observer_.item_end = [](void* context, uint32_t) {
    static_cast<GraphRunner*>(context)->overlap_->end(Overlap::Kind::computing, Overlap::clock());
  };
  if (next_.step_end != nullptr) {
    observer_.step_end = [](void* context, uint32_t step) {
      const core::Observer& next = static_cast<GraphRunner*>(context)->next_;
      next.step_end(next.context, step);
    };
  }
  return &observer_;
}

absl::Status GraphRunner::finish() {
  const absl::Status status = model_->engine()->wait(model_->memory());
  return check_ == nullptr || check_->found().empty() ? status : absl::InvalidArgumentError(check_->found());
}

absl::Status GraphRunner::run() {
  start();
  return finish();
}

void GraphRunner::start() {
  engine::push_graph(*model_->engine(), compiled_, 1, /*priority=*/0, nullptr, observer());
}

double GraphRunner::scalar(const Scalar& scalar) const {
  return core::read_scalar(model_->view().buffer(scalar.buffer).dtype, executor_.address(scalar.buffer));
}

std::vector<char> GraphRunner::read(uint32_t index, int64_t n) const {
  const plan::Buffer& buffer = model_->view().buffer(index);
  std::vector<char> values(core::plain_bytes(buffer, n)), scratch;
  if (buffer.batch_axis < 0) {
    core::unpack(buffer, n, executor_.address(index), values.data());
  } else {
    io::unpack_samples(buffer, n, executor_.address(index), &scratch, values.data());
  }
  return values;
}

}  // namespace mxc::train
