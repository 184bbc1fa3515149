// The public face of State.
#include "mxc/executor.h"

#include <algorithm>
#include <utility>

#include "runtime/executor/state.h"
#include "runtime/io/samples.h"

namespace mxc {

Entry& Entry::operator=(const NDArray& array) {
  state_->assign(name_, array);
  NDArray::operator=(state_->read(name_));
  return *this;
}

Executor::Executor(const Model& model, Device device, const ExecutorOptions& options, Here here)
    : state_(executor::State::open(model, device, options, options.share == nullptr ? nullptr : options.share->state_.get(), here)) {}
Executor::Executor(Executor&&) noexcept = default;
Executor& Executor::operator=(Executor&&) noexcept = default;
Executor::~Executor() = default;

Entry Executor::operator[](TensorName name) {
  NDArray array = state_->read(name);
  return Entry(std::move(array), state_.get(), std::move(name));
}

void Executor::forward(bool training, Here here) { state_->forward(training, here); }
void Executor::evaluate(Here here) { state_->evaluate(here); }
void Executor::backward(Here here) { state_->backward({}, here); }
void Executor::backward(const std::vector<HeadGradient>& heads, Here here) { state_->backward(heads, here); }
void Executor::forward_backward(Here here) { state_->forward_backward(here); }
void Executor::step(Here here) { state_->step(here); }

std::vector<Parameter>& Executor::parameters() { return state_->parameters; }
std::vector<Parameter>& Executor::state() { return state_->kept; }
View Executor::gradient(const std::string& name, Here here) { return state_->gradient(name, here); }
void Executor::request(const std::string& name, GradientRequest request, Here here) { state_->request(name, request, here); }
NDArray Executor::loss(Here here) { return state_->loss(here); }
NDArray Executor::metric(const std::string& name, Here here) { return state_->scalar(name, "metric", here); }
NDArray Executor::output(const std::string& name, Here here) { return state_->output(name, here); }
void Executor::monitor(const std::string& pattern, std::function<void(const std::string&, const NDArray&)> seen) {
  state_->watch(pattern, std::move(seen));
}

void Executor::set_hyper(const std::string& name, double value, Here here) { state_->set_hyper(name, value, here); }
double Executor::hyper(const std::string& name, Here here) const { return state_->hyper(name, here); }

void Executor::initialise(uint64_t seed, Here here) { state_->initialise(seed, /*shared_too=*/true, here); }
void Executor::save(const std::string& path, Here here) { state_->save(path, here); }
void Executor::load(const std::string& path, Here here) { state_->load(path, here); }
void Executor::wait(Here here) { state_->wait(here); }
void Executor::recover() { state_->recover(); }

const std::string& Executor::name() const { return state_->name; }
Device Executor::device() const { return state_->device; }
int64_t Executor::steps() const { return static_cast<int64_t>(state_->steps); }

int64_t Executor::batch() const {
  int64_t batch = 0;
  for (const plan::Graph& graph : state_->view.graphs()) batch = std::max(batch, graph.batch);
  return batch;
}

uint64_t Executor::arena_bytes() const {
  std::lock_guard lock(state_->group->mutex);
  return state_->group->arena_bytes();
}

std::vector<Field> Executor::inputs() const {
  std::vector<Field> fields;
  for (const executor::InputSlot& slot : state_->inputs) {
    const plan::Buffer& buffer = state_->view.buffer(slot.buffer);
    if (slot.head_of.empty()) fields.push_back({slot.name, io::sample_shape(buffer), ndarray::from_plan(buffer.dtype), buffer.upper_bound});
  }
  return fields;
}

std::vector<std::string> Executor::outputs() const {
  std::vector<std::string> names;
  for (const executor::Result& result : state_->results) {
    const bool known = std::find(names.begin(), names.end(), result.name) != names.end();
    if (!known && result.kind == plan::OutputKind::output) names.push_back(result.name);
  }
  return names;
}

}  // namespace mxc
