// examples/alexnet/alexnet.cpp: AlexNet (Krizhevsky et al. 2012) in one column, as the MXNet paper measures it.
#include <mxc/mxc.h>
using namespace mxc;

MXC_MODEL(alexnet) {
  Symbol image = input("image", {batch(64), 3, 224, 224});
  Symbol label = input("label", {batch(64)}, i32);

  auto pool = [](Symbol x) { return max_pool(x, {.kernel = 3, .stride = 2, .ceil_mode = true}); };
  Symbol h = lrn(pool(relu(conv2d(image, {.filters = 96, .kernel = 11, .stride = 4}))));
  h = lrn(pool(relu(conv2d(h, {.filters = 256, .kernel = 5, .pad = 2}))));
  h = relu(conv2d(h, {.filters = 384, .kernel = 3, .pad = 1}));
  h = relu(conv2d(h, {.filters = 384, .kernel = 3, .pad = 1}));
  h = flatten(pool(relu(conv2d(h, {.filters = 256, .kernel = 3, .pad = 1}))));
  h = dropout(relu(dense(h, {.units = 4096})));
  h = dropout(relu(dense(h, {.units = 4096})));
  Symbol logits = dense(h, {.units = 1000});

  minimize(softmax_cross_entropy(logits, label));
  report("accuracy", accuracy(logits, label));
  output("probability", softmax(logits));
  optimizer(sgd{.lr = 0.01, .momentum = 0.9, .weight_decay = 5e-4});
}
