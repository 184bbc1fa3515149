// Which of a library's sets of sizes a run is done by.
#include "runtime/embed/context.h"

namespace mxc::embed {

namespace {

// Whether a sample of each input is as large in both.
bool are_alike(const PlanRecords& a, const PlanRecords& b) {
  for (uint64_t i = 0; i < a.inference().input_count; ++i) {
    const plan::Buffer &x = a.buffer(a.input(a.inference(), i).buffer), &y = b.buffer(b.input(b.inference(), i).buffer);
    if (x.rank != y.rank || x.batch_axis != y.batch_axis) return false;
    for (int axis = 0; axis < x.rank; ++axis) {
      if (axis != x.batch_axis && x.dims[axis] != y.dims[axis]) return false;
    }
  }
  return true;
}

}  // namespace

const plan::Library* set_for(Sets sets, int64_t n) {
  const PlanRecords first = plan_of(**sets);
  const plan::Library* best = *sets;
  for (Sets set = sets + 1; *set != nullptr; ++set) {
    if (!are_alike(first, plan_of(**set))) continue;
    int64_t batch = plan_of(**set).inference().batch, best_batch = plan_of(*best).inference().batch;
    bool fits = n <= batch, best_fits = n <= best_batch;
    if (fits ? !best_fits || batch < best_batch : !best_fits && batch > best_batch) best = *set;
  }
  return best;
}

Status run_set(Sets sets, Context* context, int set, const void* const* inputs, void* const* outputs, int64_t n) {
  Status status = check(sets, context);
  if (status != Status::ok) return status;
  for (Sets each = sets; *each != nullptr; ++each) {
    if (each - sets == set) return run_graph(*context, **each, plan_of(**each).inference(), inputs, outputs, n);
  }
  return Status::no_set;
}

}  // namespace mxc::embed
