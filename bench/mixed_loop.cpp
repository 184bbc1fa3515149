// The loop of examples/imperative_lenet against the compiled training step of the same model: a file for mxc, run by mixed_loop.py.
//
//   ./mixed_loop ROUNDS STEPS
//
// Two executors of one model and seed take turns on the same batches, STEPS steps at a time: one by `step()`, the other by forward_backward()
// and a line of imperative SGD. Prints for each round the milliseconds of processor time of a step of each, then whether the parameters of
// the two are equal bit for bit.
#include <mxc/mxc.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>
using namespace mxc;

constexpr int kBatch = 64, kBatches = 20;

MXC_MODEL(lenet) {
  Symbol image = input("image", {batch(kBatch), 1, 28, 28});
  Symbol label = input("label", {batch(kBatch)}, i32);

  Symbol h = max_pool(tanh(conv2d(image, {.filters = 20, .kernel = 5})), {.kernel = 2, .stride = 2});
  h = max_pool(tanh(conv2d(h, {.filters = 50, .kernel = 5})), {.kernel = 2, .stride = 2});
  Symbol logits = dense(tanh(dense(flatten(h), {.units = 500})), {.units = 10});

  minimize(softmax_cross_entropy(logits, label));
  report("accuracy", accuracy(logits, label));
  output("probability", softmax(logits));
  optimizer(sgd{.lr = 0.1});
}

double milliseconds() { return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: %s ROUNDS STEPS\n", argv[0]), 2;
  const int rounds = std::atoi(argv[1]), steps = std::atoi(argv[2]);
  std::vector<NDArray> images, labels;
  random::Generator numbers(5);
  for (int i = 0; i < kBatches; ++i) {
    images.push_back(numbers.uniform({kBatch, 1, 28, 28}));
    labels.push_back((numbers.uniform({kBatch}) * 10).cast(i32));
  }
  Executor compiled(lenet, cpu(), {.seed = 7}), mixed(lenet, cpu(), {.seed = 7});
  wait_all();

  const auto timed = [&](Executor& net, auto step) {
    const double began = milliseconds();
    for (int i = 0; i < steps; ++i) {
      net["image"] = images[static_cast<size_t>(i % kBatches)];
      net["label"] = labels[static_cast<size_t>(i % kBatches)];
      step();
    }
    wait_all();
    return (milliseconds() - began) / steps;
  };
  for (int round = 0; round < rounds; ++round) {
    const double whole = timed(compiled, [&] { compiled.step(); });
    const double parts = timed(mixed, [&] {
      mixed.forward_backward();
      for (Parameter& p : mixed.parameters()) p.value -= 0.1f * p.grad;
    });
    std::printf("%.5f %.5f\n", whole, parts);
  }
  for (size_t i = 0; i < compiled.parameters().size(); ++i) {
    const std::vector<float> a = compiled.parameters()[i].value.to_vector<float>(), b = mixed.parameters()[i].value.to_vector<float>();
    if (std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) != 0) return std::printf("%s differs\n", compiled.parameters()[i].name.c_str()), 1;
  }
  std::puts("equal");
}
