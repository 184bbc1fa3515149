// Runs: which part of which graph, with how many samples, in which order; and what happens after a failure.
//
// A run is an attempt (engine.h). When one fails, what it was to write carries the error, for those who read it; and so does what takes
// the error over, such as parameters that imperative code updates by its gradients. The next run forgets the errors of what it makes anew
// (results, the arena) and, of what is kept (parameters, state), those that come from attempts: it goes on from the values that are there.
// All of that is in program order: nobody need know when the failed run is over. An error of what is kept that comes from elsewhere (`p.value = x`
// where x could not be computed) stays until the user has been told of it, or recovers.
//
// Invariants
// 1. Every run, and every copy between layouts, is queued with the group's mutex held: forward and backward of one executor follow each
//    other without another run between them, or backward says so.
// 2. The arena holds what run number `group->runs` left. `saved_run` equal to it: the values for backward are still there.
// 3. Parts are made while no run of this executor is under way: making one reads the addresses that a run may change.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/executor/live_items.h"
#include "runtime/executor/state.h"

namespace mxc::executor {
namespace {

std::string samples(int64_t n) { return absl::StrCat(n, n == 1 ? " sample" : " samples"); }

}  // namespace

// ---- Graphs and parts

uint32_t State::graph_of(Part part) const {
  const auto user = [&](const char* name) { return view.find_graph(name); };
  switch (part) {
    case Part::forward_training:
    case Part::backward: return user("forward_backward");
    case Part::train: return view.find_graph(plan::GraphKind::train);
    case Part::eval: return view.find_graph(plan::GraphKind::eval);
    case Part::infer: return view.find_graph(plan::GraphKind::infer);
    case Part::init: return view.find_graph(plan::GraphKind::init);
    case Part::report: return user("report");
  }
  return plan::kNone;
}

std::string State::graphs_text() const {
  std::vector<std::string> names;
  for (const plan::Graph& graph : view.graphs()) names.push_back(view.text(graph.name));
  return quoted_list(names);
}

uint32_t State::need_graph(Part part, const char* call, Here here) const {
  constexpr const char* kNames[kParts] = {"forward_backward", "forward_backward", "train", "eval", "infer", "init", "report"};
  const uint32_t graph = graph_of(part);
  if (graph != plan::kNone) return graph;
  throw Error(absl::StrCat(call, ": the model '", name, "' has no graph '", kNames[static_cast<size_t>(part)], "'; it has ", graphs_text()),
              here);
}

std::vector<Binding> State::bindings_of(Part part, bool brought_only) const {
  using engine::Forget;
  const uint32_t graph = graph_of(part);
  std::vector<Binding> bindings;
  for (const plan::Binding& binding : view.inputs(view.graph(graph))) {
    const std::string input = view.text(binding.name);
    for (const std::vector<InputSlot>* slots : {&inputs, &report_inputs}) {
      for (const InputSlot& slot : *slots) {
        const bool own = slots == &inputs ? graph != graph_of(Part::report) : graph == graph_of(Part::report);
        if (own && slot.name == input) bindings.push_back({binding.buffer, slot.place, Forget::nothing});
      }
    }
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].graph != graph) continue;
    const Place* place = &results[i].place;
    for (const GradientSlot& gradient : gradients) {
      if (gradient.result == i && gradient.request == GradientRequest::add) place = &gradient.fresh;
    }
    // Backward reads what forward(true) made.
    const bool anew = part != Part::backward || results[i].kind == plan::OutputKind::gradient;
    bindings.push_back({results[i].buffer, *place, anew ? Forget::everything : Forget::nothing});
  }
  for (const TensorSlot& slot : tensors) {
    if (brought_only && !slot.brought && !slot.is_copy()) continue;
    bindings.push_back({slot.tensor.buffer, slot.place, Forget::passing});
  }
  return bindings;
}

std::shared_ptr<GraphPart> State::make_part(Part which, bool brought_only, Here here) {
  const uint32_t index = graph_of(which);
  const plan::Graph& graph = view.graph(index);
  core::Selection selection;
  std::vector<uint8_t> keep;
  if (which == Part::forward_training) selection.end = graph.backward_item;
  if (which == Part::backward) {
    std::vector<uint32_t> wanted;
    for (const GradientSlot& gradient : gradients) {
      if (gradient.request != GradientRequest::none) wanted.push_back(results[gradient.result].buffer);
    }
    selection.first = graph.backward_item;
    keep = live_items(view, index, graph.backward_item, plan::kNone, wanted);
    selection.keep = keep.data();
  }
  auto made = GraphPart::create(*program, view, index, selection, *storage, *group, bindings_of(which, brought_only),
                                which != Part::backward);
  if (!made.ok()) throw Error(absl::StrCat("executor: model '", name, "': ", made.status().message()), here);
  return *std::move(made);
}

std::shared_ptr<GraphPart> State::part(Part which, Here here) {
  std::shared_ptr<GraphPart>& slot = parts_[static_cast<size_t>(which)];
  if (slot != nullptr) return slot;
  group->engine().wait(group->memory(), /*tells=*/false).IgnoreError();  // invariant 3; an error is for those who read
  return slot = make_part(which, /*brought_only=*/false, here);
}

// ---- Queuing

std::shared_ptr<PendingRun> State::run(const Lock&, std::shared_ptr<GraphPart> part, int64_t rows, uint64_t step, bool first_values) {
  auto run = std::make_shared<PendingRun>();
  run->state = shared_from_this();
  run->part = part;
  run->hypers = hypers;
  run->seed = seed;
  run->step = step;
  run->n = rows;
  run->watched = watched;
  if (was_told()) recover();
  if (!first_values) fresh_copies();
  told.clear();
  part->push(*group, run);
  if (!first_values) return_copies(*part);
  ++group->runs;
  group->used_by = name;
  return run;
}

// Has the user been told of a failure since the last run?
bool State::was_told() {
  bool told_now = std::exchange(reported, false);
  // Relaxed: set by a reader on this thread, or one that told this thread of it.
  const auto heard = [&](ndarray::Chunk& chunk) {
    if (chunk.failed.load(std::memory_order_relaxed)) told_now |= chunk.failed.exchange(false, std::memory_order_relaxed);
  };
  for (const ndarray::ChunkRef& chunk : told) heard(*chunk);
  for (const TensorSlot& slot : tensors) heard(*slot.shared->place.chunk);
  for (const Result& result : results) heard(*result.place.chunk);
  return told_now;
}

// In program order, so that it need not wait.
void State::recover() {
  for (const TensorSlot& slot : tensors) {
    group->engine().recover(slot.place.chunk->variable);
    if (slot.is_copy()) group->engine().recover(slot.shared->place.chunk->variable);
  }
}

void State::fresh_copies() {
  for (TensorSlot& slot : tensors) {
    if (slot.is_copy() && slot.copied != slot.shared->place.chunk->version()) relayout(slot, /*to_shared=*/false);
  }
}

void State::return_copies(const GraphPart& part) {
  for (TensorSlot& slot : tensors) {
    if (!slot.is_copy()) continue;
    const std::vector<ndarray::ChunkRef>& written = part.written();
    if (std::find(written.begin(), written.end(), slot.place.chunk) != written.end()) relayout(slot, /*to_shared=*/true);
  }
}

int64_t State::agreed_rows(uint32_t index, const char* call, Here here) const {
  const plan::Graph& graph = view.graph(index);
  const InputSlot* first = nullptr;
  for (const plan::Binding& binding : view.inputs(graph)) {
    const InputSlot* slot = find_input(view.text(binding.name));
    if (slot == nullptr || !slot->head_of.empty()) continue;
    if (!slot->assigned) throw Error(absl::StrCat(call, ": the input '", slot->name, "' has not been assigned"), here);
    if (view.buffer(slot->buffer).batch_axis < 0) continue;
    if (first == nullptr) first = slot;
    if (slot->rows != first->rows) {
      throw Error(absl::StrCat(call, ": the inputs differ in their number of samples: '", first->name, "' has ", first->rows, ", '", slot->name,
                               "' has ", slot->rows),
                  here);
    }
  }
  return first != nullptr ? first->rows : std::max<int64_t>(1, graph.batch);
}

void State::run_graph(Part which, const char* call, Here here) {
  const uint32_t graph = need_graph(which, call, here);
  const int64_t rows = agreed_rows(graph, call, here);
  std::shared_ptr<GraphPart> ready = part(which, here);
  std::shared_ptr<PendingRun> pending;
  {
    Lock lock(group->mutex);
    pending = run(lock, std::move(ready), rows, steps);
    if (which == Part::train) ++steps;
  }
  last_graph = graph;
  last_rows = rows;
  give_seen(pending, here);
}

std::shared_ptr<PendingRun> State::run_forward(const Lock& lock, uint32_t graph, int64_t rows) {
  auto pending = run(lock, parts_[static_cast<size_t>(Part::forward_training)], rows, steps);
  ++steps;
  saved_run = group->runs;
  saved_rows = last_rows = rows;
  last_graph = graph;
  note_versions();
  return pending;
}

// f(what it is, its name, the chunk that users write to, the chunk that runs read) for all that forward(true) reads and backward may read again.
template <typename F>
void State::each_source(F f) const {
  for (const InputSlot& slot : inputs) {
    if (slot.head_of.empty()) f("input", slot.name, slot.place.chunk, slot.place.chunk);
  }
  for (const TensorSlot& slot : tensors) f(slot.trained ? "parameter" : "tensor", slot.tensor.name, slot.shared->place.chunk, slot.place.chunk);
}

void State::note_versions() {
  saved_versions.clear();
  each_source([&](const char*, const std::string&, const ndarray::ChunkRef& written, const ndarray::ChunkRef&) {
    saved_versions.push_back(written->version());
  });
}

void State::check_versions(Here here) const {
  const std::vector<ndarray::ChunkRef>& read = parts_[static_cast<size_t>(Part::backward)]->read();
  size_t i = 0;
  each_source([&](const char* what, const std::string& source, const ndarray::ChunkRef& written, const ndarray::ChunkRef& used) {
    const bool same = written->version() == saved_versions[i++];
    if (same || std::find(read.begin(), read.end(), used) == read.end()) return;
    throw Error(absl::StrCat("backward: the ", what, " '", source, "' was written to after forward(true): gradients need what was there"), here);
  });
}

void State::check_saved(const Lock&, Here here) const {
  if (saved_run == 0) throw Error(absl::StrCat("backward: there is no forward(true) of '", name, "' to go back from"), here);
  if (group->runs == saved_run) return;
  throw Error(absl::StrCat("backward: what forward(true) of '", name, "' left is gone: a run of '", group->used_by, "' came after it"), here);
}

std::shared_ptr<PendingRun> State::run_backward(const Lock& lock, Here here) {
  check_saved(lock, here);
  saved_run = 0;
  return run(lock, parts_[static_cast<size_t>(Part::backward)], saved_rows, steps - 1);  // it belongs to the step of forward(true)
}

// ---- What users call

void State::forward(bool training, Here here) {
  const bool evaluates = graph_of(Part::infer) == plan::kNone && graph_of(Part::eval) != plan::kNone;  // it has no outputs
  if (!training) return run_graph(evaluates ? Part::eval : Part::infer, "forward", here);
  const uint32_t graph = need_graph(Part::forward_training, "forward", here);
  const int64_t rows = agreed_rows(graph, "forward", here);
  part(Part::forward_training, here);
  part(Part::backward, here);
  std::shared_ptr<PendingRun> pending;
  {
    Lock lock(group->mutex);
    pending = run_forward(lock, graph, rows);
  }
  give_seen(pending, here);
}

void State::evaluate(Here here) { run_graph(Part::eval, "evaluate", here); }

void State::step(Here here) { run_graph(Part::train, "step", here); }

// Assigns the head gradients; those that are not named become 0.
void State::set_heads(const std::vector<HeadGradient>& heads, Here here) {
  std::vector<std::string> known;
  for (const InputSlot& slot : inputs) {
    if (!slot.head_of.empty()) known.push_back(slot.head_of);
  }
  for (const HeadGradient& head : heads) {
    const auto same = [&](const HeadGradient& other) { return other.output == head.output; };
    if (std::count_if(heads.begin(), heads.end(), same) > 1) {
      throw Error(absl::StrCat("backward: the head gradient of '", head.output, "' is given more than once"), here);
    }
    if (std::find(known.begin(), known.end(), head.output) != known.end()) continue;
    throw Error(known.empty() ? absl::StrCat("backward: the model '", name, "' descends on its loss; it takes no head gradients")
                              : absl::StrCat("backward: the model '", name, "' has no output '", head.output,
                                             "' that takes a head gradient; those that do: ", quoted_list(known)),
                here);
  }
  if (heads.empty() && !known.empty()) {
    throw Error(absl::StrCat("backward: the model '", name, "' has no loss: it needs the head gradient of ", quoted_list(known)), here);
  }
  for (InputSlot& slot : inputs) {
    if (slot.head_of.empty()) continue;
    const auto given =
        std::find_if(heads.begin(), heads.end(), [&](const HeadGradient& head) { return head.output == slot.head_of; });
    const plan::Buffer& buffer = view.buffer(slot.buffer);
    const std::string call = absl::StrCat("backward: the head gradient of '", slot.head_of, "': ");
    if (given == heads.end()) {
      const Extents shape = array_of(slot.place, buffer, saved_rows).shape(here);
      assign_input(&slot, NDArray::zeros(shape, ndarray::from_plan(buffer.dtype), here), call, here);
      continue;
    }
    assign_input(&slot, given->gradient, call, here);
    if (buffer.batch_axis >= 0 && slot.rows != saved_rows) {
      throw Error(absl::StrCat("backward: the head gradient of '", slot.head_of, "' has ", samples(slot.rows), ", forward(true) had ",
                               samples(saved_rows)),
                  here);
    }
  }
}

void State::backward(const std::vector<HeadGradient>& heads, Here here) {
  need_graph(Part::backward, "backward", here);
  {
    Lock lock(group->mutex);
    check_saved(lock, here);
  }
  part(Part::backward, here);
  check_versions(here);
  set_heads(heads, here);
  std::shared_ptr<PendingRun> pending;
  {
    Lock lock(group->mutex);
    pending = run_backward(lock, here);
  }
  add_gradients();
  give_seen(pending, here);
}

void State::forward_backward(Here here) {
  const uint32_t graph = need_graph(Part::forward_training, "forward_backward", here);
  const int64_t rows = agreed_rows(graph, "forward_backward", here);
  for (const InputSlot& slot : inputs) {
    if (!slot.head_of.empty()) {
      throw Error(absl::StrCat("forward_backward: the model '", name, "' has no loss: call forward(true) and backward with head gradients"), here);
    }
  }
  part(Part::forward_training, here);
  part(Part::backward, here);
  std::shared_ptr<PendingRun> first, second;
  {
    Lock lock(group->mutex);
    first = run_forward(lock, graph, rows);
    second = run_backward(lock, here);
  }
  add_gradients();
  give_seen(first, here);
  give_seen(second, here);
}

void State::add_gradients() {
  for (const GradientSlot& gradient : gradients) {
    if (gradient.request != GradientRequest::add) continue;
    const Result& result = results[gradient.result];
    const plan::Buffer& buffer = view.buffer(result.buffer);
    group->engine().recover(result.place.chunk->variable, engine::Forget::passing);  // a sum goes on without the run that failed
    NDArray sum = array_of(result.place, buffer, saved_rows);
    sum += array_of(gradient.fresh, buffer, saved_rows);
  }
}

void State::report(Here here) {
  for (InputSlot& slot : report_inputs) {
    const Result* mean = find_result(slot.name);
    if (mean == nullptr) throw Error(absl::StrCat("metric: the last run did not compute '", slot.name, "'"), here);
    array_of(slot.place, view.buffer(slot.buffer), 0).assign(array_of(mean->place, view.buffer(mean->buffer), 0), here);
  }
  std::shared_ptr<GraphPart> ready = part(Part::report, here);
  Lock lock(group->mutex);
  run(lock, std::move(ready), 1, steps);
}

}  // namespace mxc::executor
