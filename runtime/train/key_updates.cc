// See key_updates.h.
#include "runtime/train/key_updates.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/engine/core_status.h"
#include "runtime/io/program_tensors.h"
#include "runtime/kv/add.h"

namespace mxc::train {

namespace {

constexpr char kGradients[] = "gradients", kUpdateWhole[] = "update_whole";
constexpr char kPrefix[] = "update/";

// The update graphs of the program, in its order.
std::vector<uint32_t> update_graphs(const core::PlanView& view) {
  std::vector<uint32_t> graphs;
  for (uint32_t i = 0; i < view.graphs().size(); ++i)
    if (view.graph(i).kind == plan::GraphKind::update) graphs.push_back(i);
  return graphs;
}

absl::StatusOr<uint32_t> graph_of(const core::PlanView& view, const std::string& parameter) {
  const char* said = view.find_fact(absl::StrCat("update:", parameter).c_str());
  const std::string wanted = said == nullptr ? "update" : said;
  const std::vector<uint32_t> graphs = update_graphs(view);
  for (uint32_t i = 0; i < graphs.size(); ++i)
    if (wanted == view.text(view.graph(graphs[i]).name)) return i;
  return absl::InternalError(absl::StrCat("the program has no graph '", wanted, "'"));
}

uint32_t persistent(const core::PlanView& view, const std::string& name, plan::Role role) {
  for (uint32_t i = 0; i < view.buffers().size(); ++i) {
    const plan::Buffer& buffer = view.buffer(i);
    if (buffer.space == plan::Space::persistent && buffer.role == role && name == view.text(buffer.name)) return i;
  }
  return plan::kNone;
}

absl::StatusOr<SharedKey> tensor_key(const core::PlanView& view, const std::string& name, SharedKey::Kind kind, uint32_t index,
                                     uint32_t contribution) {
  if (index == plan::kNone) return absl::InternalError(absl::StrCat("the program has no tensor '", name, "'"));
  const plan::Buffer& buffer = view.buffer(index);
  if (buffer.dtype != plan::DType::f32 && buffer.dtype != plan::DType::f64) {
    return absl::UnimplementedError(absl::StrCat("'", name, "' is ", core::dtype_name(buffer.dtype), ", and shards share f32 and f64"));
  }
  return SharedKey{name, kind, buffer.dtype, io::shape_of(buffer), index, contribution, plan::kNone, 0};
}

template <typename T>
void mean_of(std::span<const char> sum, double samples, std::span<char> value) {
  for (size_t at = 0; at < value.size(); at += sizeof(T)) {
    T element;
    std::memcpy(&element, sum.data() + at, sizeof element);
    element = static_cast<T>(static_cast<double>(element) / samples);
    std::memcpy(value.data() + at, &element, sizeof element);
  }
}

}  // namespace

void set_hypers(const core::PlanView& view, const core::Storage& storage, const UpdateRules& rules, int64_t update, uint64_t samples) {
  for (const plan::Hyper& hyper : view.hypers()) {
    const std::string name = view.text(hyper.name);
    const auto index = static_cast<uint32_t>(&hyper - view.hypers().data());
    if (name == "step") storage.set_hyper_integer(view, index, static_cast<uint64_t>(rules.first_step + update));
    const auto given = rules.hypers.find(name);
    double number = given == rules.hypers.end() ? hyper.default_value : given->second;
    if (name == "lr") number = rules.rate(rules.first_step + update / rules.updates_a_step);
    if (name == "rescale") number *= static_cast<double>(rules.batch) / static_cast<double>(samples);
    if (!io::is_internal_hyper(name)) storage.set_hyper(view, index, number);
  }
}

absl::StatusOr<std::vector<SharedKey>> KeyUpdates::keys_of(const core::PlanView& view) {
  const uint32_t index = view.find_graph(kGradients);
  const bool whole = view.find_graph(kUpdateWhole) != plan::kNone;
  if (index == plan::kNone || (update_graphs(view).empty() && !whole))
    return absl::UnimplementedError("training by several shards: the program has no graph 'gradients'");
  std::vector<SharedKey> keys;
  const plan::Graph& graph = view.graph(index);
  for (plan::OutputKind wanted : {plan::OutputKind::gradient, plan::OutputKind::state}) {
    for (const plan::Binding& binding : view.outputs(graph)) {
      if (binding.kind != wanted) continue;
      const std::string name = view.text(binding.name);
      const bool trained = wanted == plan::OutputKind::gradient;
      auto key = tensor_key(view, name, trained ? SharedKey::Kind::parameter : SharedKey::Kind::state,
                            trained ? persistent(view, name, plan::Role::parameter) : binding.buffer, binding.buffer);
      if (!key.ok()) return key.status();
      if (trained && whole) {
        key->kind = SharedKey::Kind::gradient;
      } else if (trained) {
        auto update = graph_of(view, name);
        if (!update.ok()) return update.status();
        key->update = *update;
      }
      keys.push_back(*std::move(key));
    }
  }
  const std::vector<uint32_t> updates = update_graphs(view);
  const size_t tensors = keys.size();
  for (uint32_t i = 0; i < tensors; ++i) {
    if (keys[i].kind != SharedKey::Kind::parameter) continue;
    for (const plan::Binding& input : view.inputs(view.graph(updates[keys[i].update])).subspan(2)) {
      const std::string name = absl::StrCat(keys[i].name, "/", std::string(view.text(input.name)).substr(sizeof kPrefix - 1));
      uint32_t buffer = plan::kNone;
      for (const plan::Binding& slot : view.optimizer_slots())
        if (name == view.text(slot.name)) buffer = slot.buffer;
      auto key = tensor_key(view, name, SharedKey::Kind::slot, buffer, plan::kNone);
      if (!key.ok()) return key.status();
      key->beside = i;
      keys.push_back(*std::move(key));
    }
  }
  return keys;
}

absl::StatusOr<std::unique_ptr<KeyUpdates>> KeyUpdates::create(const plan::Program& program, const core::PlanView& view,
                                                               UpdateRules rules) {
  auto made = std::make_unique<KeyUpdates>();
  made->view_ = view;
  made->rules_ = std::move(rules);
  core::Status reserved = core::Storage::create(view, &made->storage_, core::Arenas::own, core::Graphs::updates);
  if (!reserved.ok()) return engine::from_core(reserved);
  made->storage_.set_default_hypers(view);
  for (uint32_t index : update_graphs(view)) {
    Graph graph;
    core::Status status = core::Executor::create(program, view, index, made->storage_, nullptr, &graph.executor);
    if (!status.ok()) return engine::from_core(status);
    for (const plan::Binding& binding : view.inputs(view.graph(index))) graph.inputs.push_back(binding.buffer);
    for (const plan::Binding& binding : view.outputs(view.graph(index))) graph.outputs.push_back(binding.buffer);
    graph.batch = view.graph(index).batch;
    if (graph.batch <= 0 || graph.inputs.size() != graph.outputs.size() + 1)
      return absl::InternalError("a graph of kind 'update' that is no update of elements");
    made->graphs_.push_back(std::move(graph));
  }
  return made;
}

absl::Status KeyUpdates::apply(const SharedKey& key, uint64_t step, uint64_t samples, std::span<const char> sum, std::span<char> value,
                               const std::vector<std::span<char>>& slots, std::string* difference) {
  const double shards = static_cast<double>(samples) / static_cast<double>(rules_.batch);
  switch (key.kind) {
    case SharedKey::Kind::parameter: {
      if (key.compressed != kv::Key::Compressed::differences) return optimise(key, step, samples, sum, value, slots);
      if (slots.empty()) return absl::InternalError(absl::StrCat("'", key.name, "' lacks its exact value"));
      absl::Status status = optimise(key, step, samples, sum, slots.back(), {slots.begin(), slots.end() - 1});
      if (status.ok()) kv::approach(rules_.compression, key.dtype, slots.back(), value, difference);
      return status;
    }
    case SharedKey::Kind::state:
      if (key.dtype == plan::DType::f32) mean_of<float>(sum, shards, value);
      else mean_of<double>(sum, shards, value);
      return absl::OkStatus();
    case SharedKey::Kind::exact:
    case SharedKey::Kind::slot: return absl::InternalError(absl::StrCat("a contribution to '", key.name, "'"));
    case SharedKey::Kind::gradient:
    case SharedKey::Kind::sum: std::memcpy(value.data(), sum.data(), value.size()); return absl::OkStatus();
    case SharedKey::Kind::total: kv::add_into(key.dtype, value, sum); return absl::OkStatus();
    case SharedKey::Kind::tally: {
      const size_t half = value.size() / 2;
      const std::span<char> so_far = value.subspan(half);
      std::memcpy(value.data(), sum.data(), half);
      if ((rules_.first_step + static_cast<int64_t>(step) - 1) % rules_.epoch_steps == 0) std::memset(so_far.data(), 0, so_far.size());
      kv::add_into(key.dtype, so_far, sum.first(half));
      return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

absl::Status KeyUpdates::optimise(const SharedKey& key, uint64_t step, uint64_t samples, std::span<const char> sum, std::span<char> value,
                                  const std::vector<std::span<char>>& slots) {
  Graph& graph = graphs_[key.update];
  if (slots.size() + 2 != graph.inputs.size()) return absl::InternalError(absl::StrCat("'", key.name, "' lacks slots"));
  set_hypers(view_, storage_, rules_, static_cast<int64_t>(step) - 1, samples);
  const int64_t width = core::dtype_bytes(key.dtype), count = static_cast<int64_t>(value.size()) / width;
  for (int64_t first = 0; first < count; first += graph.batch) {
    const int64_t n = std::min(graph.batch, count - first);
    const auto at = static_cast<size_t>(first * width), bytes = static_cast<size_t>(n * width);
    const auto place = [&](uint32_t buffer) { return graph.executor.address(buffer); };
    std::memcpy(place(graph.inputs[0]), value.data() + at, bytes);
    std::memcpy(place(graph.inputs[1]), sum.data() + at, bytes);
    for (size_t i = 0; i < slots.size(); ++i) std::memcpy(place(graph.inputs[2 + i]), slots[i].data() + at, bytes);
    if (core::Status status = graph.executor.run(n); !status.ok()) return engine::from_core(status);
    std::memcpy(value.data() + at, place(graph.outputs[0]), bytes);
    for (size_t i = 0; i < slots.size(); ++i) std::memcpy(slots[i].data() + at, place(graph.outputs[1 + i]), bytes);
  }
  return absl::OkStatus();
}

}  // namespace mxc::train
