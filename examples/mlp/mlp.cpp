// examples/mlp/mlp.cpp: a multilayer perceptron on handwritten digits: MXNet's own first example.
#include <mxc/mxc.h>
using namespace mxc;

MXC_MODEL(mlp) {
  Symbol image = input("image", {batch(100), 1, 28, 28});
  Symbol label = input("label", {batch(100)}, i32);

  Symbol h = relu(dense(flatten(image), {.units = 128}));
  h = relu(dense(h, {.units = 64}));
  Symbol logits = dense(h, {.units = 10});

  minimize(softmax_cross_entropy(logits, label));
  report("accuracy", accuracy(logits, label));
  output("probability", softmax(logits));
  optimizer(sgd{.lr = 0.1, .momentum = 0.9});
}
