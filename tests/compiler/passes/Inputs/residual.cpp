// data8 -> fc16 -> relu = a -> fc16 -> relu -> (+ a) -> fc10 -> softmax loss: small enough to plan by hand.
#include <mxc/mxc.h>
using namespace mxc;

MXC_MODEL(residual) {
  Symbol data = input("data", {batch(4), 8}), label = input("label", {batch(4)}, i32);
  Symbol a = relu(dense(data, {.units = 16}));
  Symbol logits = dense(relu(dense(a, {.units = 16})) + a, {.units = 10});
  minimize(softmax_cross_entropy(logits, label));
  output("probability", softmax(logits));
}
