// examples/inception_bn/inception_bn.cpp: Inception with batch normalisation (Ioffe and Szegedy 2015, figure 5).
#include <mxc/mxc.h>
using namespace mxc;

Symbol conv(Symbol x, int filters, int kernel, int stride = 1) {
  return relu(batch_norm(conv2d(
      x, {.filters = filters, .kernel = kernel, .stride = stride, .pad = kernel / 2, .weight = msra(), .bias = false})));
}

enum class Pool { avg, max };

// Four paths side by side: 1x1, 3x3, two of 3x3, pooling.
struct Widths {
  int one, three_reduce, three, double_reduce, doubled, projection;
};

Symbol inception(Symbol x, const Widths& w, Pool pool) {
  Symbol pooled = pool == Pool::avg ? avg_pool(x, {.kernel = 3, .pad = 1}) : max_pool(x, {.kernel = 3, .pad = 1});
  return concat({conv(x, w.one, 1), conv(conv(x, w.three_reduce, 1), w.three, 3),
                 conv(conv(conv(x, w.double_reduce, 1), w.doubled, 3), w.doubled, 3), conv(pooled, w.projection, 1)});
}

// The same at half the resolution: no 1x1 path, and the pooled input as it is.
Symbol reduction(Symbol x, const Widths& w) {
  return concat({conv(conv(x, w.three_reduce, 1), w.three, 3, 2),
                 conv(conv(conv(x, w.double_reduce, 1), w.doubled, 3), w.doubled, 3, 2),
                 max_pool(x, {.kernel = 3, .stride = 2, .pad = 1})});
}

MXC_MODEL(inception_bn) {
  Symbol image = input("image", {batch(32), 3, 224, 224});
  Symbol label = input("label", {batch(32)}, i32);

  Symbol h = max_pool(conv(image, 64, 7, 2), {.kernel = 3, .stride = 2, .pad = 1});
  h = max_pool(conv(conv(h, 64, 1), 192, 3), {.kernel = 3, .stride = 2, .pad = 1});
  h = inception(h, {64, 64, 64, 64, 96, 32}, Pool::avg);
  h = inception(h, {64, 64, 96, 64, 96, 64}, Pool::avg);
  h = reduction(h, {0, 128, 160, 64, 96, 0});
  h = inception(h, {224, 64, 96, 96, 128, 128}, Pool::avg);
  h = inception(h, {192, 96, 128, 96, 128, 128}, Pool::avg);
  h = inception(h, {160, 128, 160, 128, 160, 96}, Pool::avg);
  h = inception(h, {96, 128, 192, 160, 192, 96}, Pool::avg);
  h = reduction(h, {0, 128, 192, 192, 256, 0});
  h = inception(h, {352, 192, 320, 160, 224, 128}, Pool::avg);
  h = inception(h, {352, 192, 320, 192, 224, 128}, Pool::max);
  Symbol logits = dense(flatten(global_avg_pool(h)), {.units = 1000});

  minimize(softmax_cross_entropy(logits, label));
  report("accuracy", accuracy(logits, label));
  report("top5", top_k_accuracy(logits, label, {.k = 5}));
  output("probability", softmax(logits));
  optimizer(sgd{.lr = 0.05, .momentum = 0.9, .weight_decay = 1e-4});
}
