// examples/dcgan/dcgan.cpp: two networks trained against each other (Goodfellow et al. 2014; Radford, Metz and Chintala 2015), each a
// compiled graph, with a training loop of one's own: one paints digits out of noise, the other tells painted digits from real ones.
//
//   ./dcgan examples/data/digits.csv.gz [ROUNDS [FOLDER [THREADS]]]
//
// FOLDER keeps where a training is: it goes on from there, bit for bit as if it had not been left.
#include <mxc/mxc.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>
using namespace mxc;

constexpr int kBatch = 64, kNoise = 16;

MXC_MODEL(painter) {
  Symbol noise = input("noise", {batch(kBatch), kNoise});
  Symbol h = relu(batch_norm(reshape(dense(noise, {.units = 32 * 4 * 4}), {.shape = {-1, 32, 4, 4}})));
  h = relu(batch_norm(conv2d(h, {.filters = 32, .kernel = 3, .pad = 1})));
  output("image", sigmoid(conv2d_transpose(h, {.filters = 1, .kernel = 4, .stride = 2, .pad = 1})));  // 8 x 8
}

MXC_MODEL(critic) {
  Symbol image = input("image", {batch(kBatch), 1, 8, 8}, f32, {.gradient = true});
  Symbol real = input("real", {batch(kBatch), 1});  // 1: of the data, 0: painted
  Symbol h = leaky_relu(conv2d(image, {.filters = 32, .kernel = 3, .stride = 2, .pad = 1}), {.slope = 0.2});
  Symbol verdict = dense(leaky_relu(dense(flatten(h), {.units = 64}), {.slope = 0.2}), {.units = 1});
  minimize(sigmoid_cross_entropy(verdict, real));
}

// Kingma and Ba's rule, as arithmetic on arrays.
class Adam {
 public:
  Adam(Executor& net, float rate) : net_(net), rate_(rate) {
    for (const Parameter& p : net.parameters()) {
      first_.push_back(NDArray::zeros(p.value.shape()));
      second_.push_back(NDArray::zeros(p.value.shape()));
    }
  }
  void step() {
    power1_ *= 0.5f;
    power2_ *= 0.999f;
    for (size_t i = 0; i < first_.size(); ++i) {
      Parameter& p = net_.parameters()[i];
      first_[i] = 0.5f * first_[i] + 0.5f * p.grad;
      second_[i] = 0.999f * second_[i] + 0.001f * (p.grad * p.grad);
      p.value -= rate_ * (first_[i] / (1 - power1_)) / (sqrt(second_[i] / (1 - power2_)) + 1e-8f);
    }
  }
  void save(const std::string& path) {
    NamedArrays kept = {{"powers", NDArray::from(std::vector<float>{power1_, power2_})}};
    for (size_t i = 0; i < first_.size(); ++i) {
      kept.push_back({"first." + net_.parameters()[i].name, first_[i]});
      kept.push_back({"second." + net_.parameters()[i].name, second_[i]});
    }
    mxc::save(path, kept);
  }
  void load(const std::string& path) {
    const std::vector<float> powers = NDArray::load(path, "powers").to_vector<float>();
    power1_ = powers[0], power2_ = powers[1];
    for (size_t i = 0; i < first_.size(); ++i) {
      first_[i] = NDArray::load(path, "first." + net_.parameters()[i].name);
      second_[i] = NDArray::load(path, "second." + net_.parameters()[i].name);
    }
  }

 private:
  Executor& net_;
  float rate_, power1_ = 1, power2_ = 1;
  std::vector<NDArray> first_, second_;
};

// How far the mean picture of `images` is from the data's, as a root mean square over its pixels.
double distance(const NDArray& images, const NDArray& of_data) {
  NDArray difference = mean(images, {.axes = {0}}) - of_data;
  return sqrt(mean(difference * difference)).item<double>();
}

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: dcgan DIGITS.csv [ROUNDS [FOLDER [THREADS]]]\n");
    return 2;
  }
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 20, threads = argc > 4 ? std::atoi(argv[4]) : 0;
  const std::string folder = argc > 3 ? argv[3] : "";
  set_engine({.threads = threads});
  Executor paint(painter, cpu(), {.seed = 1, .threads = threads}), judge(critic, cpu(), {.seed = 2, .threads = threads});
  Adam painters(paint, 0.002f), critics(judge, 0.001f);
  DataSet digits = data::csv(std::string(argv[1]) + "?image=0-63&scale=16", {{"image", {1, 8, 8}}}).batches(kBatch);

  NDArray sum = NDArray::zeros({1, 8, 8});
  for (const Batch& batch : digits) sum += mxc::sum(batch.image, {.axes = {0}});
  const NDArray mean_digit = sum / static_cast<float>(digits.size());

  int first = 0;
  if (!folder.empty() && std::filesystem::exists(folder + "/painter.safetensors")) {
    paint.load(folder + "/painter.safetensors");
    judge.load(folder + "/critic.safetensors");
    painters.load(folder + "/painters.npz");
    critics.load(folder + "/critics.npz");
    first = static_cast<int>(paint.steps() / static_cast<int64_t>((digits.size() + kBatch - 1) / kBatch));
  }
  const NDArray probe = random::normal({kBatch, kNoise}, {.seed = 8});
  paint["noise"] = probe;
  paint.forward();
  std::printf("distance before %.4f\n", distance(paint["image"], mean_digit));

  for (int round = first; round < rounds; ++round) {
    random::Generator noise(7, static_cast<uint32_t>(round));
    NDArray loss = NDArray::zeros({});
    for (const Batch& batch : digits.shuffled(3).epoch(round)) {
      const int64_t n = batch.rows();
      paint["noise"] = noise.normal({n, kNoise});
      paint.forward(true);
      // The critic learns from both kinds, and not to be too sure (Salimans et al. 2016).
      for (bool real : {true, false}) {
        judge["image"] = real ? batch.image : NDArray(paint["image"]);
        judge["real"] = NDArray::full({n, 1}, real ? 0.9 : 0.0);
        judge.forward_backward();
        loss += judge.loss() / 2.0f;
        critics.step();
      }
      // The painter goes where the critic would say "real": the gradient of the picture is the head gradient of what painted it.
      judge["real"] = NDArray::ones({n, 1});
      judge.forward_backward();
      paint.backward({{"image", judge.gradient("image")}});
      painters.step();
    }
    const double batches = static_cast<double>((digits.size() + kBatch - 1) / kBatch);
    paint["noise"] = probe;
    paint.forward();
    std::printf("round %d: critic's loss %.4f, distance %.4f\n", round + 1, loss.item<double>() / batches,
                distance(paint["image"], mean_digit));
  }

  if (!folder.empty()) {
    std::filesystem::create_directories(folder);
    paint.save(folder + "/painter.safetensors");
    judge.save(folder + "/critic.safetensors");
    painters.save(folder + "/painters.npz");
    critics.save(folder + "/critics.npz");
  }
  const std::vector<float> pixels = NDArray(paint["image"]).to_vector<float>();
  for (int y = 0; y < 8; ++y) {
    for (int picture = 0; picture < 6; ++picture) {
      for (int x = 0; x < 8; ++x) std::putchar(" .:-=+*#%@"[static_cast<int>(pixels[static_cast<size_t>(picture * 64 + y * 8 + x)] * 9.99f)]);
      std::putchar(picture < 5 ? ' ' : '\n');
    }
  }
}
