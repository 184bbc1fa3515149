// How an executor comes to be: the program, its memory, and the places of all that has a name.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/engine/core_status.h"
#include "runtime/engine/default_engine.h"
#include "runtime/executor/state.h"
#include "runtime/io/dataset.h"

namespace mxc::executor {
namespace {

constexpr char kHead[] = ".head_gradient";

// The output whose head gradient the input of graph forward_backward is, or nothing: a model that descends on a loss has none, and each
// belongs to an output of a floating type.
std::string head_of(const core::PlanView& view, const plan::Graph& graph, const std::string& input) {
  const size_t length = sizeof kHead - 1;
  if (input.size() <= length || input.compare(input.size() - length, length, kHead) != 0) return "";
  if (std::string(view.text(graph.name)) != "forward_backward") return "";
  const std::string output = input.substr(0, input.size() - length);
  bool found = false;
  for (const plan::Binding& binding : view.outputs(graph)) {
    if (binding.kind == plan::OutputKind::loss) return "";
    const bool named = binding.kind == plan::OutputKind::output && view.text(binding.name) == output;
    found |= named && io::is_floating(view.buffer(binding.buffer).dtype);
  }
  return found ? output : "";
}

bool is_report(const core::PlanView& view, const plan::Graph& graph) {
  return graph.kind == plan::GraphKind::user && std::string(view.text(graph.name)) == "report";
}

const char* kind_text(plan::DeviceKind kind) { return kind == plan::DeviceKind::cpu ? "cpu" : "cuda"; }

}  // namespace

std::string quoted_list(const std::vector<std::string>& names) {
  if (names.empty()) return "none";
  return absl::StrCat("'", absl::StrJoin(names, "', '"), "'");
}

std::shared_ptr<State> State::open(const Model& model, Device device, const ExecutorOptions& options, const State* share, Here here) {
  auto state = std::make_shared<State>();
  state->name = model.name;
  state->program = model.program;
  state->device = device;
  state->seed = options.seed;
  if (device.index < 0) throw Error(absl::StrCat("executor: there is no device ", to_string(device)), here);
  if (model.program == nullptr) throw Error(absl::StrCat("executor: the model '", model.name, "' is not compiled into this program"), here);
  core::Status status = core::PlanView::open(*model.program, &state->view);
  if (!status.ok()) throw Error(absl::StrCat("executor: model '", model.name, "': ", status.text), here);
  for (const plan::Device& own : state->view.devices()) {
    if (own.kind == plan::DeviceKind::cpu) continue;
    throw Error(absl::StrCat("executor: the model '", model.name, "' is compiled for ", kind_text(own.kind), ", not for ", to_string(device)),
                here);
  }
  state->open_memory(options, share, here);
  state->open_inputs();
  state->open_results();
  state->open_tensors(here);
  auto hypers = std::make_shared<std::vector<double>>();
  for (const plan::Hyper& hyper : state->view.hypers()) hypers->push_back(hyper.default_value);
  state->hypers = std::move(hypers);
  state->initialise(options.seed, /*shared_too=*/false, here);
  return state;
}

void State::open_memory(const ExecutorOptions& options, const State* share, Here here) {
  if (share != nullptr) {
    group = share->group;
    if (!(group->device() == device)) {
      throw Error(absl::StrCat("executor: '", name, "' on ", to_string(device), " cannot share with '", share->name, "' on ",
                               to_string(group->device())),
                  here);
    }
    if (options.engine != nullptr && options.engine != &group->engine()) {
      throw Error(absl::StrCat("executor: '", name, "' cannot share with '", share->name, "', which runs through another engine"), here);
    }
  } else {
    engine::Engine& engine = options.engine == nullptr ? engine::default_engine() : *options.engine;
    auto made = Group::create(engine, options.threads, device);
    if (!made.ok()) throw Error(absl::StrCat("executor: ", made.status().message()), here);
    group = *std::move(made);
  }
  storage = std::make_shared<core::Storage>();
  core::Status status = core::Storage::create(view, storage.get(), core::Arenas::lent);
  if (!status.ok()) throw Error(absl::StrCat("executor: model '", name, "': ", status.text), here);
  storage->set_default_hypers(view);
  std::lock_guard lock(group->mutex);
  for (const plan::Device& own : view.devices()) {
    if (absl::Status grown = group->grow_arena(own.arena_bytes); !grown.ok()) {
      throw Error(absl::StrCat("executor: model '", name, "': ", grown.message()), here);
    }
  }
  storage->lend_arena(0, group->newest_arena());
}

Place State::place_of(const std::string& name, uint32_t index) {
  const plan::Buffer& buffer = view.buffer(index);
  engine::Engine& engine = group->engine();
  void* memory = storage->address(buffer);
  return {ndarray::adopt(engine, engine.variable(name, buffer.bytes), memory, buffer.bytes, storage, device), memory};
}

void State::open_inputs() {
  for (const plan::Graph& graph : view.graphs()) {
    std::vector<InputSlot>& slots = is_report(view, graph) ? report_inputs : inputs;
    for (const plan::Binding& binding : view.inputs(graph)) {
      const std::string input = view.text(binding.name);
      bool known = false;
      for (const InputSlot& slot : slots) known |= slot.name == input;
      if (!known) slots.push_back({input, binding.buffer, place_of(input, binding.buffer), false, 0, head_of(view, graph, input)});
    }
  }
}

// A result of several graphs (an output as in inference and as in training) has one place: an array of it shows the last run of any.
Place State::place_of_result(const Result& result) {
  const plan::Buffer& buffer = view.buffer(result.buffer);
  for (const Result& other : results) {
    const plan::Buffer& known = view.buffer(other.buffer);
    const bool same = other.name == result.name && other.kind == result.kind && other.graph != result.graph;
    if (same && same_tensor(known, buffer) && same_layout(known, buffer)) return other.place;
  }
  return place_of(result.name, result.buffer);
}

void State::open_results() {
  for (uint32_t graph = 0; graph < view.graphs().size(); ++graph) {
    for (const plan::Binding& binding : view.outputs(view.graph(graph))) {
      if (binding.kind == plan::OutputKind::parameter || binding.kind == plan::OutputKind::state) continue;
      const std::string result = view.text(binding.name);
      if (binding.kind == plan::OutputKind::gradient) gradients.push_back({results.size()});
      Result made{result, binding.kind, graph, binding.buffer, {}};
      made.place = place_of_result(made);
      results.push_back(std::move(made));
    }
  }
}

}  // namespace mxc::executor
