// examples/resnet18/resnet18.cpp: the residual net of 18 layers (He et al. 2015, table 1), shortcuts across stages by 1x1 convolutions.
#include <mxc/mxc.h>
using namespace mxc;

Symbol conv_norm(Symbol x, int filters, int kernel, int stride) {
  return batch_norm(
      conv2d(x, {.filters = filters, .kernel = kernel, .stride = stride, .pad = kernel / 2, .weight = msra(), .bias = false}));
}

Symbol block(Symbol x, int filters, int stride) {
  Symbol h = conv_norm(relu(conv_norm(x, filters, 3, stride)), filters, 3, 1);
  if (stride > 1) x = conv_norm(x, filters, 1, stride);
  return relu(h + x);
}

MXC_MODEL(resnet18) {
  Symbol image = input("image", {batch(32), 3, 224, 224});
  Symbol label = input("label", {batch(32)}, i32);

  Symbol h = max_pool(relu(conv_norm(image, 64, 7, 2)), {.kernel = 3, .stride = 2, .pad = 1});
  for (int filters : {64, 128, 256, 512}) {
    h = block(h, filters, filters == 64 ? 1 : 2);
    h = block(h, filters, 1);
  }
  Symbol logits = dense(flatten(global_avg_pool(h)), {.units = 1000});

  minimize(softmax_cross_entropy(logits, label));
  report("accuracy", accuracy(logits, label));
  report("top5", top_k_accuracy(logits, label, {.k = 5}));
  output("probability", softmax(logits));
  optimizer(sgd{.lr = 0.1, .momentum = 0.9, .weight_decay = 1e-4});
}
