// examples/googlenet/googlenet.cpp: GoogLeNet (Szegedy et al. 2015) without the side heads.
#include <mxc/mxc.h>
using namespace mxc;

namespace {

Symbol conv(Symbol x, int filters, int kernel, int stride = 1, int pad = 0) {
  return relu(conv2d(x, {.filters = filters, .kernel = kernel, .stride = stride, .pad = pad}));
}

Symbol pool(Symbol x, int stride, int pad) {
  return max_pool(x, {.kernel = 3, .stride = stride, .pad = pad, .ceil_mode = true});
}

// Four ways beside each other: 1x1; 3x3 behind a reduction; 5x5 behind a reduction; a pool and a projection.
struct Inception {
  int one, reduce3, three, reduce5, five, project;
};

Symbol inception(Symbol x, const Inception& f) {
  Symbol one = conv(x, f.one, 1);
  Symbol three = conv(conv(x, f.reduce3, 1), f.three, 3, 1, 1);
  Symbol five = conv(conv(x, f.reduce5, 1), f.five, 5, 1, 2);
  Symbol projected = conv(pool(x, 1, 1), f.project, 1);
  return concat({one, three, five, projected});
}

}  // namespace

MXC_MODEL(googlenet) {
  Symbol image = input("image", {batch(64), 3, 224, 224});
  Symbol label = input("label", {batch(64)}, i32);

  Symbol h = pool(conv(image, 64, 7, 2, 3), 2, 0);
  h = pool(conv(conv(h, 64, 1), 192, 3, 1, 1), 2, 0);
  h = inception(h, {64, 96, 128, 16, 32, 32});
  h = inception(h, {128, 128, 192, 32, 96, 64});
  h = pool(h, 2, 0);
  h = inception(h, {192, 96, 208, 16, 48, 64});
  h = inception(h, {160, 112, 224, 24, 64, 64});
  h = inception(h, {128, 128, 256, 24, 64, 64});
  h = inception(h, {112, 144, 288, 32, 64, 64});
  h = inception(h, {256, 160, 320, 32, 128, 128});
  h = pool(h, 2, 0);
  h = inception(h, {256, 160, 320, 32, 128, 128});
  h = inception(h, {384, 192, 384, 48, 128, 128});
  Symbol logits = dense(flatten(avg_pool(h, {.kernel = 7})), {.units = 1000});

  minimize(softmax_cross_entropy(logits, label));
  report("accuracy", accuracy(logits, label));
  output("probability", softmax(logits));
  optimizer(sgd{.lr = 0.01, .momentum = 0.9, .weight_decay = 2e-4});
}
