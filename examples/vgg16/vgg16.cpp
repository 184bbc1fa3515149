// examples/vgg16/vgg16.cpp: VGG, configuration D, 16 layers with weights (Simonyan and Zisserman 2014, table 1).
#include <mxc/mxc.h>
using namespace mxc;

Symbol stage(Symbol x, int filters, int convolutions) {
  for (int i = 0; i < convolutions; ++i) x = relu(conv2d(x, {.filters = filters, .kernel = 3, .pad = 1, .weight = msra()}));
  return max_pool(x, {.kernel = 2, .stride = 2});
}

Symbol hidden(Symbol x) { return dropout(relu(dense(x, {.units = 4096, .weight = msra()})), {.rate = 0.5}); }

MXC_MODEL(vgg16) {
  Symbol image = input("image", {batch(32), 3, 224, 224});
  Symbol label = input("label", {batch(32)}, i32);

  Symbol h = stage(image, 64, 2);
  h = stage(h, 128, 2);
  h = stage(h, 256, 3);
  h = stage(h, 512, 3);
  h = stage(h, 512, 3);
  Symbol logits = dense(hidden(hidden(flatten(h))), {.units = 1000});

  minimize(softmax_cross_entropy(logits, label));
  report("accuracy", accuracy(logits, label));
  report("top5", top_k_accuracy(logits, label, {.k = 5}));
  output("probability", softmax(logits));
  optimizer(sgd{.lr = 0.01, .momentum = 0.9, .weight_decay = 5e-4});
}
