// examples/digits/digits.cpp: a small convolutional net on handwritten digits of 8x8 pixels.
#include <mxc/mxc.h>
using namespace mxc;

MXC_MODEL(digits) {
  Symbol image = input("image", {batch(32), 1, 8, 8});
  Symbol label = input("label", {batch(32)}, i32);

  Symbol h = relu(conv2d(image, {.filters = 16, .kernel = 3, .pad = 1}));
  h = max_pool(relu(conv2d(h, {.filters = 32, .kernel = 3, .pad = 1})), {.kernel = 2, .stride = 2});
  h = relu(dense(dropout(flatten(h), {.rate = 0.25}), {.units = 64}));
  Symbol logits = dense(dropout(h, {.rate = 0.5}), {.units = 10});

  minimize(softmax_cross_entropy(logits, label));
  report("accuracy", accuracy(logits, label));
  output("probability", softmax(logits));
  optimizer(adam{.lr = 0.003});
}
