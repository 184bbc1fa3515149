// See train.h.
#include "runtime/embed/train.h"

#include "runtime/embed/hypers.h"

namespace mxc::embed {

namespace {

// Where a hyper-parameter lies in the context.
unsigned char* place_of(const Context& context, const plan::Buffer& buffer) { return context.own + (buffer.offset - context.own_from); }

void set_integer(Context& context, const char* name, int64_t value) {
  const PlanRecords plan = plan_of(**context.sets);
  for (uint64_t i = 0; i < plan.header().hypers.count; ++i) {
    const plan::Buffer& buffer = plan.buffer(plan.hyper(i).buffer);
    if (core::same_text(plan.text(plan.hyper(i).name), name)) write_integer(buffer.dtype, place_of(context, buffer), value);
  }
}

Status check_trained(Sets sets, const Context* context) {
  Status status = check(sets, context);
  return status == Status::ok && context->weights == nullptr ? Status::no_weights : status;
}

bool is_usable(const PlanRecords& plan, const plan::Hyper& hyper, double value) {
  double held = plan.buffer(hyper.buffer).dtype == plan::DType::f32 ? static_cast<double>(static_cast<float>(value)) : value;
  return value == hyper.default_value || core::is_within(core::hyper_range(plan.text(hyper.name)), held);
}

Status step_by(const plan::Library& set, Context& context, const void* const* inputs, void* const* outputs, int64_t n) {
  set_integer(context, "step", context.steps);
  Status status = run_graph(context, set, *plan_of(set).training(), inputs, outputs, n);
  if (status == Status::ok) ++context.steps;
  return status;
}

}  // namespace

void begin_training(Context& context) {
  const PlanRecords plan = plan_of(**context.sets);
  const Persistent parts = persistent(plan);
  if (parts.own == parts.end) return;
  __builtin_memcpy(context.own, context.weights + parts.own, static_cast<size_t>(parts.fresh - parts.own));
  __builtin_memset(context.own + (parts.fresh - parts.own), 0, static_cast<size_t>(parts.end - parts.fresh));
  for (uint64_t i = 0; i < plan.header().hypers.count; ++i) {
    const plan::Buffer& buffer = plan.buffer(plan.hyper(i).buffer);
    write_hyper(buffer.dtype, place_of(context, buffer), plan.hyper(i).default_value);
  }
}

Status train_step(Sets sets, Context* context, const void* const* inputs, void* const* outputs, int64_t n) {
  Status status = check_trained(sets, context);
  return status == Status::ok ? step_by(*set_for(sets, n), *context, inputs, outputs, n) : status;
}

Status train_step_set(Sets sets, Context* context, int set, const void* const* inputs, void* const* outputs, int64_t n) {
  Status status = check_trained(sets, context);
  if (status != Status::ok) return status;
  const plan::Library* chosen = set_at(sets, set);
  return chosen == nullptr ? Status::no_set : step_by(*chosen, *context, inputs, outputs, n);
}

Status get_hypers(Sets sets, const Context* context, double* values) {
  Status status = check_trained(sets, context);
  if (status != Status::ok) return status;
  if (values == nullptr) return Status::null_pointer;
  const PlanRecords plan = plan_of(**sets);
  for (uint64_t i = 0; i < plan.header().hypers.count; ++i) {
    const plan::Buffer& buffer = plan.buffer(plan.hyper(i).buffer);
    if (!is_internal_hyper(plan.text(plan.hyper(i).name))) *values++ = read_hyper(buffer.dtype, place_of(*context, buffer));
  }
  return Status::ok;
}

Status set_hypers(Sets sets, Context* context, const double* values) {
  Status status = check_trained(sets, context);
  if (status != Status::ok) return status;
  if (values == nullptr) return Status::null_pointer;
  const PlanRecords plan = plan_of(**sets);
  for (int write = 0; write < 2; ++write) {
    const double* value = values;
    for (uint64_t i = 0; i < plan.header().hypers.count; ++i) {
      const plan::Hyper& hyper = plan.hyper(i);
      const plan::Buffer& buffer = plan.buffer(hyper.buffer);
      if (is_internal_hyper(plan.text(hyper.name))) continue;
      if (write == 1) write_hyper(buffer.dtype, place_of(*context, buffer), *value);
      else if (!is_usable(plan, hyper, *value)) return Status::bad_hyper;
      ++value;
    }
  }
  return Status::ok;
}

Status set_seed(Sets sets, Context* context, uint64_t seed) {
  Status status = check_trained(sets, context);
  if (status == Status::ok) set_integer(*context, "seed", static_cast<int64_t>(seed));
  return status;
}

Status count_steps(Sets sets, const Context* context, int64_t* steps) {
  Status status = check(sets, context);
  if (status != Status::ok) return status;
  if (steps == nullptr) return Status::null_pointer;
  *steps = context->steps;
  return Status::ok;
}

}  // namespace mxc::embed
