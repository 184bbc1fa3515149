// The public face of State.
#include "mxc/executor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/executor/state.h"
#include "runtime/io/samples.h"

namespace mxc {

namespace {

// No lock is taken before: another thread of the parent may have held it at the fork.
void check_process(const executor::State& state, Here here) {
  if (!state.group->engine().inherited()) return;
  throw Error(absl::StrCat("the executor of '", state.name, "' was made before fork() and stays with the parent process: make another one here"), here);
}

}  // namespace

Entry& Entry::operator=(const NDArray& array) {
  const std::shared_ptr<executor::State> state = state_.lock();
  if (state == nullptr) throw Error(absl::StrCat("[\"", name_.text, "\"] = array: the executor is gone"), name_.where);
  check_process(*state, name_.where);
  state->assign(name_, array);
  NDArray::operator=(state->read(name_));
  return *this;
}

Executor::Executor(const Model& model, Device device, const ExecutorOptions& options, Here here)
    : state_(executor::State::open(model, device, options, options.share == nullptr ? nullptr : &options.share->alive(here), here)) {}
Executor::Executor(Executor&&) noexcept = default;
Executor& Executor::operator=(Executor&&) noexcept = default;
Executor::~Executor() = default;

executor::State& Executor::alive(Here here) const {
  if (state_ == nullptr) throw Error("the executor has been moved from", here);
  check_process(*state_, here);
  return *state_;
}

Entry Executor::operator[](TensorName name) {
  executor::State& state = alive(name.where);
  NDArray array = state.read(name);
  return Entry(std::move(array), state_, std::move(name));
}

void Executor::forward(bool training, Here here) { alive(here).forward(training, here); }
void Executor::evaluate(Here here) { alive(here).evaluate(here); }
void Executor::backward(Here here) { alive(here).backward({}, here); }
void Executor::backward(const std::vector<HeadGradient>& heads, Here here) { alive(here).backward(heads, here); }
void Executor::forward_backward(Here here) { alive(here).forward_backward(here); }
void Executor::step(Here here) { alive(here).step(here); }

std::vector<Parameter>& Executor::parameters(Here here) { return alive(here).parameters; }
std::vector<Parameter>& Executor::state(Here here) { return alive(here).kept; }
View Executor::gradient(const std::string& name, Here here) { return alive(here).gradient(name, here); }
void Executor::request(const std::string& name, GradientRequest request, Here here) { alive(here).request(name, request, here); }
NDArray Executor::loss(Here here) { return alive(here).loss(here); }
NDArray Executor::metric(const std::string& name, Here here) { return alive(here).scalar(name, "metric", here); }
NDArray Executor::output(const std::string& name, Here here) { return alive(here).output(name, here); }
void Executor::monitor(const std::string& pattern, std::function<void(const std::string&, const NDArray&)> seen, Here here) {
  alive(here).watch(pattern, std::move(seen));
}

void Executor::set_hyper(const std::string& name, double value, Here here) { alive(here).set_hyper(name, value, here); }
double Executor::hyper(const std::string& name, Here here) const { return alive(here).hyper(name, here); }

void Executor::initialise(uint64_t seed, Here here) { alive(here).initialise(seed, /*shared_too=*/true, here); }
void Executor::save(const std::string& path, Here here) { alive(here).save(path, here); }
void Executor::load(const std::string& path, Here here) { alive(here).load(path, here); }
void Executor::wait(Here here) { alive(here).wait(here); }
void Executor::recover(Here here) { alive(here).recover(); }

const std::string& Executor::name(Here here) const { return alive(here).name; }
Device Executor::device(Here here) const { return alive(here).device; }
int64_t Executor::steps(Here here) const { return static_cast<int64_t>(alive(here).steps); }

int64_t Executor::batch(Here here) const {
  int64_t batch = 0;
  for (const plan::Graph& graph : alive(here).view.graphs()) batch = std::max(batch, graph.batch);
  return batch;
}

uint64_t Executor::arena_bytes(Here here) const {
  executor::Group& group = *alive(here).group;
  std::lock_guard lock(group.mutex);
  return group.arena_bytes();
}

std::vector<Field> Executor::inputs(Here here) const {
  std::vector<Field> fields;
  for (const executor::InputSlot& slot : alive(here).inputs) {
    const plan::Buffer& buffer = alive(here).view.buffer(slot.buffer);
    if (slot.head_of.empty()) fields.push_back({slot.name, io::sample_shape(buffer), ndarray::from_plan(buffer.dtype), buffer.upper_bound});
  }
  return fields;
}

std::vector<std::string> Executor::outputs(Here here) const {
  std::vector<std::string> names;
  for (const executor::Result& result : alive(here).results) {
    const bool known = std::find(names.begin(), names.end(), result.name) != names.end();
    if (!known && result.kind == plan::OutputKind::output) names.push_back(result.name);
  }
  return names;
}

}  // namespace mxc
