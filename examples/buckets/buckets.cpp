// examples/buckets/buckets.cpp: sequences of several lengths. Each length has a graph of its own, unrolled; all of them share one set of
// weights, one optimizer and one arena, which is as large as the longest needs.
//
// The task: a sequence of symbols; what was the first one? The network has to carry it to the end.
//
//   ./buckets [ROUNDS [FOLDER [THREADS]]]
//
// FOLDER keeps where a training is: it goes on from there, bit for bit as if it had not been left.
#include <mxc/mxc.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <random>
#include <string>
#include <vector>
using namespace mxc;

constexpr int kSymbols = 8, kWidth = 32, kBatch = 32;
constexpr int kLengths[] = {4, 8, 16};

// A recurrent cell with a gate (Cho et al. 2014, minimal): how much of the memory is replaced.
void recall(int length) {
  Symbol text = input("text", {batch(kBatch), length}, i32);
  Symbol first = input("first", {batch(kBatch)}, i32);

  Symbol embedded = embedding(text, {.vocabulary = kSymbols, .units = kWidth, .name = "embedding"});
  Symbol weight = parameter("cell.weight", {2 * kWidth, 2 * kWidth}, {.init = xavier()});
  Symbol bias = parameter("cell.bias", {2 * kWidth}, {.init = zeros()});
  Symbol memory = {};
  for (int t = 0; t < length; ++t) {
    Symbol x = reshape(slice(embedded, {.begin = {t}, .end = {t + 1}, .axes = {1}}), {.shape = {0, kWidth}});
    if (!memory) memory = x * 0;
    Symbol gates = dense(concat({x, memory}, {.axis = 1}), {.units = 2 * kWidth, .weight = weight, .bias = bias});
    auto part = [&](int i) { return slice(gates, {.begin = {i * kWidth}, .end = {(i + 1) * kWidth}, .axes = {1}}); };
    Symbol keep = sigmoid(part(0) + 1);
    memory = keep * memory + (1 - keep) * tanh(part(1));
  }
  Symbol logits = dense(memory, {.units = kSymbols, .name = "answer"});
  minimize(softmax_cross_entropy(logits, first));
  report("accuracy", accuracy(logits, first));
  output("answer", argmax(logits));
  optimizer(adam{.lr = 0.005, .clip = 1});
}

MXC_MODEL(recall4) { recall(4); }
MXC_MODEL(recall8) { recall(8); }
MXC_MODEL(recall16) { recall(16); }

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 200, threads = argc > 3 ? std::atoi(argv[3]) : 0;
  const std::string folder = argc > 2 ? argv[2] : "";
  set_engine({.threads = threads});
  // What each would take for itself.
  uint64_t largest = 0, all = 0;
  for (const Model& model : {recall4, recall8, recall16}) {
    const uint64_t own = Executor(model).arena_bytes();
    largest = own > largest ? own : largest;
    all += own;
  }
  std::vector<Executor> nets;
  nets.reserve(std::size(kLengths));
  nets.emplace_back(recall4, cpu(), ExecutorOptions{.seed = 1, .threads = threads});
  nets.emplace_back(recall8, cpu(), ExecutorOptions{.share = &nets[0]});
  nets.emplace_back(recall16, cpu(), ExecutorOptions{.share = &nets[0]});
  std::printf("arena %llu bytes, the largest alone %llu, apart %llu\n", static_cast<unsigned long long>(nets[0].arena_bytes()),
              static_cast<unsigned long long>(largest), static_cast<unsigned long long>(all));

  // Each has a file: parameters and the optimizer's state, which are the same in all, and how many steps it has made.
  const auto file_of = [&](const Executor& net) { return folder + "/" + net.name() + ".safetensors"; };
  for (Executor& net : nets)
    if (!folder.empty() && std::filesystem::exists(file_of(net))) net.load(file_of(net));

  std::mt19937 random;
  const auto assign = [&](Executor& net, int length) {
    std::vector<int32_t> text(static_cast<size_t>(kBatch * length)), first(kBatch);
    for (int32_t& symbol : text) symbol = static_cast<int32_t>(random() % kSymbols);
    for (size_t i = 0; i < first.size(); ++i) first[i] = text[i * static_cast<size_t>(length)];
    net["text"] = NDArray::from(text, {kBatch, length});
    net["first"] = NDArray::from(first);
  };
  for (int round = static_cast<int>(nets[0].steps()); round < rounds; ++round) {
    random.seed(static_cast<unsigned>(round));
    for (size_t i = 0; i < nets.size(); ++i) {
      assign(nets[i], kLengths[i]);
      nets[i].step();
    }
  }
  if (!folder.empty()) std::filesystem::create_directories(folder);
  for (Executor& net : nets)
    if (!folder.empty()) net.save(file_of(net));
  for (size_t i = 0; i < nets.size(); ++i) {
    double right = 0;
    for (int trial = 0; trial < 20; ++trial) {
      assign(nets[i], kLengths[i]);
      nets[i].evaluate();
      right += nets[i].metric("accuracy").item<double>() / 20;
    }
    std::printf("length %d: accuracy %.4f\n", kLengths[i], right);
  }
}
