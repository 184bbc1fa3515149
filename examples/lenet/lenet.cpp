// examples/lenet/lenet.cpp: LeNet on handwritten digits of 28x28 pixels.
#include <mxc/mxc.h>
using namespace mxc;

MXC_MODEL(lenet) {
  Symbol image = input("image", {batch(64), 1, 28, 28});
  Symbol label = input("label", {batch(64)}, i32);

  Symbol h = max_pool(tanh(conv2d(image, {.filters = 20, .kernel = 5})), {.kernel = 2, .stride = 2});
  h = max_pool(tanh(conv2d(h, {.filters = 50, .kernel = 5})), {.kernel = 2, .stride = 2});
  Symbol logits = dense(tanh(dense(flatten(h), {.units = 500})), {.units = 10});

  minimize(softmax_cross_entropy(logits, label));   // what training descends
  report("accuracy", accuracy(logits, label));      // what progress shows
  output("probability", softmax(logits));           // what inference returns
  optimizer(sgd{.lr = 0.05, .momentum = 0.9});
}
