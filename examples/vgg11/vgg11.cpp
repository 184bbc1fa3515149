// examples/vgg11/vgg11.cpp: VGG with 11 layers of weights (Simonyan and Zisserman 2015, column A).
#include <mxc/mxc.h>
using namespace mxc;

MXC_MODEL(vgg11) {
  Symbol image = input("image", {batch(64), 3, 224, 224});
  Symbol label = input("label", {batch(64)}, i32);

  Symbol h = image;
  for (const std::vector<int>& group : std::vector<std::vector<int>>{{64}, {128}, {256, 256}, {512, 512}, {512, 512}}) {
    for (int filters : group) h = relu(conv2d(h, {.filters = filters, .kernel = 3, .pad = 1}));
    h = max_pool(h, {.kernel = 2, .stride = 2});
  }
  h = flatten(h);
  h = dropout(relu(dense(h, {.units = 4096})));
  h = dropout(relu(dense(h, {.units = 4096})));
  Symbol logits = dense(h, {.units = 1000});

  minimize(softmax_cross_entropy(logits, label));
  report("accuracy", accuracy(logits, label));
  output("probability", softmax(logits));
  optimizer(sgd{.lr = 0.01, .momentum = 0.9, .weight_decay = 5e-4});
}
