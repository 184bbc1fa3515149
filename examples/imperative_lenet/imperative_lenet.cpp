// examples/imperative_lenet/imperative_lenet.cpp: a compiled LeNet, trained by a loop of the program's own. The optimizer is one line of
// imperative code; it gives the bits of the compiled one. Usage: imperative_lenet MNIST-FOLDER EPOCHS SAVE.safetensors [FROM.safetensors|- [THREADS]]
// It goes on from what FROM has kept, in the middle of the EPOCHS.
#include <mxc/mxc.h>

#include <cstdio>
#include <cstdlib>
#include <string>
using namespace mxc;

MXC_MODEL(lenet) {
  Symbol image = input("image", {batch(64), 1, 28, 28});
  Symbol label = input("label", {batch(64)}, i32);

  Symbol h = max_pool(tanh(conv2d(image, {.filters = 20, .kernel = 5})), {.kernel = 2, .stride = 2});
  h = max_pool(tanh(conv2d(h, {.filters = 50, .kernel = 5})), {.kernel = 2, .stride = 2});
  Symbol logits = dense(tanh(dense(flatten(h), {.units = 500})), {.units = 10});

  minimize(softmax_cross_entropy(logits, label));
  report("accuracy", accuracy(logits, label));
  output("probability", softmax(logits));
  optimizer(sgd{.lr = 0.1});
}

int main(int argc, char** argv) {
  if (argc < 4 || argc > 6) return std::fprintf(stderr, "usage: %s MNIST-FOLDER EPOCHS SAVE.safetensors [FROM.safetensors|- [THREADS]]\n", argv[0]), 2;
  const std::string from = argc > 4 ? argv[4] : "-";
  const int threads = argc > 5 ? std::atoi(argv[5]) : 0;
  set_engine({.threads = threads});
  Executor net(lenet, cpu(), {.seed = 7, .threads = threads});
  DataSet digits = data::mnist(argv[1]).batches(64).shuffled(7);
  const int64_t steps = (static_cast<int64_t>(digits.size()) + 63) / 64;
  if (from != "-") net.load(from);
  for (int epoch = static_cast<int>(net.steps() / steps); epoch < std::atoi(argv[2]); ++epoch) {
    for (const Batch& batch : digits.epoch(epoch)) {
      net["image"] = batch.image;
      net["label"] = batch.label;
      net.forward_backward();
      for (Parameter& p : net.parameters()) p.value -= 0.1f * p.grad;
    }
    std::printf("epoch %d: loss %.4f, accuracy %.3f in the last batch\n", epoch, net.loss().item<float>(), net.metric("accuracy").item<float>());
  }
  net.save(argv[3]);
}
