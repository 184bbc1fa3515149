// From the uses of buffers to holds of variables.
#include "runtime/engine/graph_run.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/engine/core_status.h"

namespace mxc::engine {

namespace {

// The items that touch a variable, over all its buffers.
struct VariableUse {
  Variable variable;
  core::Use use;
  Forget forget;
};

int64_t earlier(int64_t a, int64_t b) { return a < 0 || (b >= 0 && b < a) ? b : a; }

void merge(core::Use& into, const core::Use& use) {
  into.first_read = earlier(into.first_read, use.first_read);
  into.first_write = earlier(into.first_write, use.first_write);
  into.last_read = std::max(into.last_read, use.last_read);
  into.last_write = std::max(into.last_write, use.last_write);
}

// Adds the holds of one variable to a list sorted by first item. Reader, writer, reader: each part may be empty. The first of them forgets.
void add_holds(const VariableUse& v, std::vector<Hold>& holds) {
  Forget forget = v.forget;
  auto add = [&](bool write, int64_t first, int64_t last) {
    if (first < 0 || first > last) return;
    if (!write && forget == Forget::everything) forget = Forget::nothing;
    Hold hold = {v.variable, write, static_cast<uint32_t>(first), static_cast<uint32_t>(last), std::exchange(forget, Forget::nothing)};
    auto later = [](const Hold& a, const Hold& b) { return a.first < b.first; };
    holds.insert(std::upper_bound(holds.begin(), holds.end(), hold, later), hold);
  };
  const core::Use& use = v.use;
  if (use.first_write < 0) return add(false, use.first_read, use.last_read);
  add(false, use.first_read, use.first_write - 1);
  add(true, use.first_write, use.last_write);
  add(false, use.last_write + 1, use.last_read);
}

// Writes each step into a trace, as events within the operation's, and hands on to the caller's observer.
struct StepTrace {
  Trace* trace;
  const core::PlanView& view;
  int64_t n;
  core::Observer next;
  int64_t began = 0;

  Trace::Sizes sizes(const plan::Step& step) const {
    Trace::Sizes sizes;
    for (const plan::Arg& arg : view.args(step)) {
      const uint64_t bytes = core::used_bytes(view.buffer(arg.buffer), n);
      if (arg.access != plan::Access::write) sizes.read += bytes;
      if (arg.access != plan::Access::read) sizes.written += bytes;
    }
    return sizes;
  }

  core::Observer observer() {
    core::Observer observer;
    observer.context = this;
    observer.item_begin = [](void* context, uint32_t item) {
      const core::Observer& next = static_cast<StepTrace*>(context)->next;
      return next.item_begin == nullptr || next.item_begin(next.context, item);
    };
    observer.item_end = [](void* context, uint32_t item) {
      const core::Observer& next = static_cast<StepTrace*>(context)->next;
      if (next.item_end != nullptr) next.item_end(next.context, item);
    };
    observer.step_begin = [](void* context, uint32_t step) {
      StepTrace& self = *static_cast<StepTrace*>(context);
      if (self.next.step_begin != nullptr) self.next.step_begin(self.next.context, step);
      self.began = Trace::now();
    };
    observer.step_end = [](void* context, uint32_t step) {
      StepTrace& self = *static_cast<StepTrace*>(context);
      const plan::Step& record = self.view.step(step);
      self.trace->add(self.view.text(record.name), "step", self.began, Trace::now(), self.sizes(record));
      if (self.next.step_end != nullptr) self.next.step_end(self.next.context, step);
    };
    return observer;
  }
};

}  // namespace

absl::StatusOr<CompiledGraph> CompiledGraph::create(core::Executor* executor, const core::PlanView& view, Variable memory,
                                                    const std::vector<BoundVariable>& bound, bool anew) {
  std::vector<VariableUse> uses;
  for (const BoundVariable& b : bound) {
    if (b.buffer >= view.buffers().size()) {
      return absl::InvalidArgumentError(absl::StrCat("bound buffer ", b.buffer, " is not in the plan"));
    }
    if (b.variable == memory) return absl::InvalidArgumentError("the memory's variable is bound to a buffer");
    auto same = std::find_if(uses.begin(), uses.end(), [&](const VariableUse& u) { return u.variable == b.variable; });
    if (same == uses.end()) same = uses.insert(uses.end(), {b.variable, {}, b.forget});
    merge(same->use, executor->use(b.buffer));
  }
  CompiledGraph graph;
  graph.executor_ = executor;
  graph.view_ = view;
  uint32_t items = executor->top_level_items();
  graph.holds_.push_back({std::move(memory), true, 0, items == 0 ? 0 : items - 1, anew ? Forget::everything : Forget::nothing});
  for (const VariableUse& use : uses) add_holds(use, graph.holds_);
  return graph;
}

void push_graph(Engine& engine, const CompiledGraph& graph, int64_t n, int32_t priority, Prepare prepare,
                const core::Observer* watcher) {
  core::Executor* executor = graph.executor_;
  const uint32_t items = executor->top_level_items();
  auto body = [&engine, executor, view = graph.view_, n, watcher, prepare = std::move(prepare)](uint32_t first, uint32_t end) mutable {
    if (first == 0 && prepare) {
      absl::Status status = prepare();
      if (!status.ok()) return status;
    }
    end = std::min(end, executor->top_level_items());  // a graph without items is an operation of one
    Trace* trace = engine.trace();
    if (trace == nullptr) return from_core(executor->run_items(n, first, end, watcher));
    StepTrace steps{trace, view, n, watcher == nullptr ? core::Observer() : *watcher};
    core::Observer observer = steps.observer();
    return from_core(executor->run_items(n, first, end, &observer));
  };
  static_assert(sizeof body <= kInlineCapture, "a run of a graph allocates");
  engine.push_staged({.name = executor->name(), .lane = Lane::compute, .priority = priority, .attempt = true}, graph.holds_,
                     std::max(items, 1u), std::move(body));
}

}  // namespace mxc::engine
