// Training in an embedded library: the model's train graph, cut to the parameters that the library was compiled to train.
//
// What training changes lies in the context: the trained parameters, the layers' state (running statistics), the optimizer's state,
// hyper-parameters, seed, and the number of steps done. Inference of that context reads it from there; the weights stay as they are.
#pragma once

#include "runtime/embed/context.h"

namespace mxc::embed {

// One step on n samples. `inputs` and `outputs` (loss, then reports; null: not delivered) in the model's order. The hyper-parameter `step` is
// the number of steps done before. Errors, after which nothing has changed: those of `run`.
Status train_step(Sets sets, Context* context, const void* const* inputs, void* const* outputs, int64_t n);

// The same with the set of that number. Errors: also no_set.
Status train_step_set(Sets sets, Context* context, int set, const void* const* inputs, void* const* outputs, int64_t n);

// The hyper-parameters in the Plan's order, without step and seed. Errors, after which nothing has changed: null_pointer, no_context,
// no_weights, bad_hyper.
Status get_hypers(Sets sets, const Context* context, double* values);
Status set_hypers(Sets sets, Context* context, const double* values);

// What random numbers of training are drawn from, beside the step. Errors: null_pointer, no_context, no_weights.
Status set_seed(Sets sets, Context* context, uint64_t seed);

// Steps done since training began. Errors: null_pointer, no_context.
Status count_steps(Sets sets, const Context* context, int64_t* steps);

}  // namespace mxc::embed
