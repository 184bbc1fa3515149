// examples/mobilenet_v2/mobilenet_v2.cpp: inverted residuals and linear bottlenecks (Sandler et al. 2018, table 2).
#include <mxc/mxc.h>
using namespace mxc;

Symbol conv_norm(Symbol x, int filters, int kernel, int stride = 1, int groups = 1) {
  return batch_norm(conv2d(x, {.filters = filters,
                               .kernel = kernel,
                               .stride = stride,
                               .pad = kernel / 2,
                               .groups = groups,
                               .weight = msra(),
                               .bias = false}));
}

Symbol relu6(Symbol x) { return minimum(relu(x), 6); }

// Widens by `expand`, filters each channel on its own, narrows without an activation.
Symbol inverted_residual(Symbol x, int channels, int expand, int filters, int stride) {
  const int wide = channels * expand;
  Symbol h = expand > 1 ? relu6(conv_norm(x, wide, 1)) : x;
  h = relu6(conv_norm(h, wide, 3, stride, wide));
  h = conv_norm(h, filters, 1);
  return stride == 1 && channels == filters ? h + x : h;
}

MXC_MODEL(mobilenet_v2) {
  Symbol image = input("image", {batch(32), 3, 224, 224});
  Symbol label = input("label", {batch(32)}, i32);

  Symbol h = relu6(conv_norm(image, 32, 3, 2));
  int channels = 32;
  struct Stage {
    int expand, filters, blocks, stride;
  };
  for (const Stage& stage : {Stage{1, 16, 1, 1}, Stage{6, 24, 2, 2}, Stage{6, 32, 3, 2}, Stage{6, 64, 4, 2}, Stage{6, 96, 3, 1},
                             Stage{6, 160, 3, 2}, Stage{6, 320, 1, 1}}) {
    for (int i = 0; i < stage.blocks; ++i) {
      h = inverted_residual(h, channels, stage.expand, stage.filters, i == 0 ? stage.stride : 1);
      channels = stage.filters;
    }
  }
  h = flatten(global_avg_pool(relu6(conv_norm(h, 1280, 1))));
  Symbol logits = dense(dropout(h, {.rate = 0.2}), {.units = 1000});

  minimize(softmax_cross_entropy(logits, label));
  report("accuracy", accuracy(logits, label));
  report("top5", top_k_accuracy(logits, label, {.k = 5}));
  output("probability", softmax(logits));
  optimizer(sgd{.lr = 0.05, .momentum = 0.9, .weight_decay = 4e-5});
}
