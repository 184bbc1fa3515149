// examples/resnet50/resnet50.cpp: the residual net of 50 layers, of bottleneck blocks (He et al. 2015, table 1). The first 1x1
// convolution of a stage halves the resolution.
#include <mxc/mxc.h>
using namespace mxc;

Symbol conv_norm(Symbol x, int filters, int kernel, int stride) {
  return batch_norm(
      conv2d(x, {.filters = filters, .kernel = kernel, .stride = stride, .pad = kernel / 2, .weight = msra(), .bias = false}));
}

Symbol bottleneck(Symbol x, int filters, int stride, bool first) {
  Symbol h = relu(conv_norm(x, filters, 1, stride));
  h = relu(conv_norm(h, filters, 3, 1));
  h = conv_norm(h, 4 * filters, 1, 1);
  if (first) x = conv_norm(x, 4 * filters, 1, stride);
  return relu(h + x);
}

MXC_MODEL(resnet50) {
  Symbol image = input("image", {batch(32), 3, 224, 224});
  Symbol label = input("label", {batch(32)}, i32);

  Symbol h = max_pool(relu(conv_norm(image, 64, 7, 2)), {.kernel = 3, .stride = 2, .pad = 1});
  const int blocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    for (int i = 0; i < blocks[stage]; ++i) h = bottleneck(h, 64 << stage, i == 0 && stage > 0 ? 2 : 1, i == 0);
  }
  Symbol logits = dense(flatten(global_avg_pool(h)), {.units = 1000});

  minimize(softmax_cross_entropy(logits, label));
  report("accuracy", accuracy(logits, label));
  report("top5", top_k_accuracy(logits, label, {.k = 5}));
  output("probability", softmax(logits));
  optimizer(sgd{.lr = 0.1, .momentum = 0.9, .weight_decay = 1e-4});
}
