// examples/kvstore_digits/kvstore_digits.cpp: the loop of the MXNet paper (arXiv 1512.01274, section 2.3): several processes train one net, on batches
// of their own, through a KVStore. Usage: mxc launch -n 2 ./kvstore_digits DIGITS.csv.gz EPOCHS SAVE.safetensors SHARDS [KIND [FROM.safetensors FIRST-EPOCH]]
//
// Batch b belongs to shard b modulo SHARDS, and each process has some of the shards: one process with four, two with two each, and four with
// one give the same weights, bit for bit, and so does a training that goes on at an epoch from what FROM holds.
#include <mxc/mxc.h>

#include <cstdio>
#include <cstdlib>
using namespace mxc;

MXC_MODEL(digits) {
  Symbol image = input("image", {batch(16), 1, 8, 8});
  Symbol label = input("label", {batch(16)}, i32);

  Symbol h = max_pool(relu(conv2d(image, {.filters = 16, .kernel = 3, .pad = 1})), {.kernel = 2, .stride = 2});
  Symbol logits = dense(relu(dense(flatten(h), {.units = 64})), {.units = 10});

  minimize(softmax_cross_entropy(logits, label));
  report("accuracy", accuracy(logits, label));
}

int main(int argc, char** argv) {
  if (argc < 5 || argc == 7 || argc > 8) {
    return std::fprintf(stderr, "usage: %s DIGITS.csv.gz EPOCHS SAVE.safetensors SHARDS [KIND [FROM.safetensors FIRST-EPOCH]]\n", argv[0]), 2;
  }
  KVStore kv = KVStore::create(argc > 5 ? argv[5] : "dist_sync", {.shards = std::atoi(argv[4])});
  kv.set_updater([](const KVUpdate& update) { update.value -= (0.1f / static_cast<float>(update.shards)) * update.gradient; });

  Executor net(digits, cpu(), {.seed = 7});
  DataSet data = data::open(std::string("csv:") + argv[1] + "?label=64&scale=16&holdout=0.2", net.inputs()).batches(16).shuffled(7);
  if (argc == 8) net.load(argv[6]);
  for (Parameter& p : net.parameters()) kv.init(p.name, p.value);

  std::vector<std::vector<NDArray>> gradients(net.parameters().size());
  for (int epoch = argc == 8 ? std::atoi(argv[7]) : 0; epoch < std::atoi(argv[2]); ++epoch) {
    int64_t shard = 0;
    for (const Batch& batch : data.epoch(epoch)) {
      if (shard >= kv.first_shard() && shard < kv.first_shard() + kv.own_shards()) {
        net["image"] = batch.image;
        net["label"] = batch.label;
        net.forward_backward();
        for (size_t i = 0; i < gradients.size(); ++i) gradients[i].push_back(net.parameters()[i].grad.copy());
      }
      if (++shard < kv.shards()) continue;
      for (size_t i = 0; i < gradients.size(); ++i) {
        Parameter& p = net.parameters()[i];
        kv.push(p.name, gradients[i]);
        kv.pull(p.name, p.value);
        gradients[i].clear();
      }
      shard = 0;
    }
    for (std::vector<NDArray>& some : gradients) some.clear();  // of a last step that not all shards have a batch for
    const float loss = net.loss().item<float>();
    if (kv.rank() == 0) std::printf("epoch %d: loss %.4f, accuracy %.3f in the last batch\n", epoch, loss, net.metric("accuracy").item<float>());
    std::fflush(stdout);
  }
  if (kv.rank() == 0) net.save(argv[3]);
  kv.close();
}
