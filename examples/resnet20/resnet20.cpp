// examples/resnet20/resnet20.cpp: the residual net of 20 layers for pictures of 32x32 (He et al. 2015, section 4.2): three stages of
// three blocks with 16, 32 and 64 filters. A shortcut across stages takes every second pixel and adds channels of zeros.
//
//   ./resnet20 train --data 'images:DIR?holdout=0.1&crop=random&pad=4&flip=yes&mean=0.4914,0.4822,0.4465&std=0.247,0.2435,0.2616'
#include <mxc/mxc.h>
using namespace mxc;

Symbol conv_norm(Symbol x, int filters, int stride) {
  return batch_norm(conv2d(x, {.filters = filters, .kernel = 3, .stride = stride, .pad = 1, .weight = msra(), .bias = false}));
}

Symbol block(Symbol x, int filters, int stride) {
  Symbol h = relu(conv_norm(x, filters, stride));
  h = conv_norm(h, filters, 1);
  if (stride > 1) {
    x = slice(x, {.begin = {0, 0}, .step = {stride, stride}, .axes = {2, 3}});
    x = pad(x, {.before = {0, filters / 4, 0, 0}, .after = {0, filters / 4, 0, 0}});
  }
  return relu(h + x);
}

MXC_MODEL(resnet20) {
  Symbol image = input("image", {batch(64), 3, 32, 32});
  Symbol label = input("label", {batch(64)}, i32);

  Symbol h = relu(conv_norm(image, 16, 1));
  for (int filters : {16, 32, 64}) {
    for (int i = 0; i < 3; ++i) h = block(h, filters, i == 0 && filters > 16 ? 2 : 1);
  }
  Symbol logits = dense(flatten(global_avg_pool(h)), {.units = 10});

  minimize(softmax_cross_entropy(logits, label));
  report("accuracy", accuracy(logits, label));
  output("probability", softmax(logits));
  optimizer(sgd{.lr = 0.1, .momentum = 0.9, .weight_decay = 1e-4});
}
