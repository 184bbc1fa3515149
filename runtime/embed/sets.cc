// Which of a library's sets of sizes a run is done by.
#include "runtime/embed/context.h"

namespace mxc::embed {

namespace {

// Whether memory for n samples, n within both batches, is the same.
bool lie_alike(const plan::Buffer& x, const plan::Buffer& y) {
  if (x.rank != y.rank || x.batch_axis != y.batch_axis || x.batch_unit != y.batch_unit || x.dtype != y.dtype) return false;
  for (int axis = 0; axis < x.rank; ++axis) {
    bool of_samples = axis == 0 && x.batch_axis == 0;
    if (!of_samples && x.dims[axis] != y.dims[axis]) return false;
  }
  return true;
}

bool are_alike(const PlanRecords& a, const PlanRecords& b, const plan::Graph& of_a, const plan::Graph& of_b) {
  if (of_a.input_count != of_b.input_count || of_a.output_count != of_b.output_count) return false;
  for (uint64_t i = 0; i < of_a.input_count; ++i) {
    if (!lie_alike(a.buffer(a.input(of_a, i).buffer), b.buffer(b.input(of_b, i).buffer))) return false;
  }
  for (uint64_t i = 0; i < of_a.output_count; ++i) {
    if (!lie_alike(a.buffer(a.output(of_a, i).buffer), b.buffer(b.output(of_b, i).buffer))) return false;
  }
  return true;
}

}  // namespace

bool is_alike(const PlanRecords& first, const PlanRecords& set) {
  if (!core::same_text(first.fact("sizes"), set.fact("sizes"))) return false;
  if (!are_alike(first, set, first.inference(), set.inference())) return false;
  return first.training() == nullptr || are_alike(first, set, *first.training(), *set.training());
}

const plan::Library* set_for(Sets sets, int64_t n) {
  const PlanRecords first = plan_of(**sets);
  const plan::Library* best = *sets;
  for (Sets set = sets + 1; *set != nullptr; ++set) {
    if (!is_alike(first, plan_of(**set))) continue;
    int64_t batch = most_samples(plan_of(**set)), best_batch = most_samples(plan_of(*best));
    bool fits = n <= batch, best_fits = n <= best_batch;
    if (fits ? !best_fits || batch < best_batch : !best_fits && batch > best_batch) best = *set;
  }
  return best;
}

const plan::Library* set_at(Sets sets, int set) {
  for (Sets each = sets; *each != nullptr; ++each) {
    if (each - sets == set) return *each;
  }
  return nullptr;
}

Status run_set(Sets sets, Context* context, int set, const void* const* inputs, void* const* outputs, int64_t n) {
  Status status = check(sets, context);
  if (status != Status::ok) return status;
  const plan::Library* chosen = set_at(sets, set);
  return chosen == nullptr ? Status::no_set : run_graph(*context, *chosen, plan_of(*chosen).inference(), inputs, outputs, n);
}

}  // namespace mxc::embed
