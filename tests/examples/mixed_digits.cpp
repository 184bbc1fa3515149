// Two branches on the digits of examples/data, one computed in f64: a program whose parameters have two element types. trainer_jobs_test.py trains it by
// several processes.
#include <mxc/mxc.h>
using namespace mxc;

MXC_MODEL(mixed_digits) {
  Symbol image = input("image", {batch(32), 64});
  Symbol label = input("label", {batch(32)}, i32);

  Symbol coarse = tanh(dense(image, {.units = 24}));
  Symbol fine = tanh(dense(cast(image, {.to = f64}), {.units = 24}));
  Symbol logits = dense(coarse + cast(fine, {.to = f32}), {.units = 10});

  minimize(softmax_cross_entropy(logits, label));
  report("accuracy", accuracy(logits, label));
  output("probability", softmax(logits));
  optimizer(adam{.lr = 0.003});
}
