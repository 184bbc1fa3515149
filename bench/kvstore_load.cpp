// bench/kvstore_load.cpp: a worker that pushes and pulls arrays as a training would, with sleep in place of computation, for kvstore_lab.py.
// Usage: kvstore_load TRANSPORT KEYS STEPS FIRST [SECONDS]
//
// KEYS has a line for each array, in the order in which forward uses them: how many elements, and which share of forward and of backward is its layer's. Computation
// of a step takes SECONDS, a third of it forward. Without SECONDS nothing is waited for between steps, as fast as the store goes.
//
// Shows the seconds that STEPS steps took, after FIRST others, and the bytes that the interface eth0, if there is one, has sent meanwhile. With SECONDS they are from
// the end of a step's computation to that of another: what a step costs in a long row of them. Without, all is there before and behind them.
#include <mxc/mxc.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>
using namespace mxc;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

struct Layer {
  std::string key;
  double forward = 0, backward = 0;  // seconds
  NDArray value, gradient;
};

// Computes for exactly so long, but for waiting: what a sleep was too long, the next is shorter.
class Computer {
 public:
  void wait_for(const NDArray& value) {
    const Clock::time_point begin = Clock::now();
    value.wait();
    if (Clock::now() - begin > std::chrono::microseconds(100)) due_ = Clock::now();
  }
  void compute(double seconds) {
    due_ += std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
    std::this_thread::sleep_until(due_);
  }

 private:
  Clock::time_point due_ = Clock::now();
};

std::vector<Layer> read(const char* file, double seconds) {
  std::vector<Layer> layers;
  std::ifstream lines(file);
  int64_t elements;
  for (double forward, backward; lines >> elements >> forward >> backward;) {
    layers.push_back({"key" + std::to_string(layers.size()), forward * seconds / 3, backward * seconds * 2 / 3, NDArray::zeros({elements}),
                      NDArray::ones({elements})});
  }
  return layers;
}

int64_t sent() {
  int64_t bytes = 0;
  std::ifstream("/sys/class/net/eth0/statistics/tx_bytes") >> bytes;
  return bytes;
}

int main(int argc, char** argv) {
  if (argc < 5 || argc > 6) return std::fprintf(stderr, "usage: %s TRANSPORT KEYS STEPS FIRST [SECONDS]\n", argv[0]), 2;
  const int steps = std::atoi(argv[3]), first = std::atoi(argv[4]);
  const bool computes = argc == 6;
  KVStoreOptions options;
  options.transport = argv[1];
  KVStore kv = KVStore::create("dist_sync", options);
  std::vector<Layer> layers = read(argv[2], computes ? std::atof(argv[5]) : 0);
  for (Layer& layer : layers) kv.init(layer.key, layer.value);

  const auto all_there = [&] {
    for (Layer& layer : layers) layer.value.wait();
    kv.barrier();
  };
  Computer computer;
  const auto train = [&](int count) {
    for (int step = 0; step < count; ++step) {
      for (size_t i = 0; computes && i < layers.size(); ++i) {
        computer.wait_for(layers[i].value);
        computer.compute(layers[i].forward);
      }
      for (size_t i = layers.size(); i-- > 0;) {
        if (computes) computer.compute(layers[i].backward);
        kv.push(layers[i].key, layers[i].gradient);
        kv.pull(layers[i].key, layers[i].value);
      }
    }
    if (!computes) all_there();
  };
  train(first);
  const int64_t before = sent();
  const Clock::time_point begin = Clock::now();
  train(steps);
  const double seconds = Seconds(Clock::now() - begin).count();
  const int64_t bytes = sent() - before;
  all_there();
  for (const Layer& layer : layers) {  // without an updater a value is the sum of what was pushed
    if (layer.value[0].item<float>() != static_cast<float>(kv.size())) return std::fprintf(stderr, "a wrong sum of %s\n", layer.key.c_str()), 1;
  }
  std::printf("%.6f %lld\n", seconds, static_cast<long long>(bytes));
  kv.close();
}
