// Batch norm behind convolutions and behind a dense layer, and dropout: the layers that keep state or draw random numbers in training
// and do something else in evaluation. examples_test.py trains it on the digits of examples/data.
#include <mxc/mxc.h>
using namespace mxc;

MXC_MODEL(normed_digits) {
  Symbol image = input("image", {batch(32), 1, 8, 8});
  Symbol label = input("label", {batch(32)}, i32);

  Symbol h = relu(batch_norm(conv2d(image, {.filters = 16, .kernel = 3, .pad = 1, .bias = false})));
  h = relu(batch_norm(conv2d(h, {.filters = 32, .kernel = 3, .pad = 1, .bias = false})));
  h = dropout(max_pool(h, {.kernel = 2, .stride = 2}), {.rate = 0.2});
  h = relu(batch_norm(dense(flatten(h), {.units = 64, .bias = false})));
  Symbol logits = dense(dropout(h, {.rate = 0.3}), {.units = 10});

  minimize(softmax_cross_entropy(logits, label));
  report("accuracy", accuracy(logits, label));
  output("probability", softmax(logits));
  optimizer(sgd{.lr = 0.05, .momentum = 0.9});
}
