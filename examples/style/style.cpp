// examples/style/style.cpp: a picture that is optimised, not a network (Gatys, Ecker and Bethge 2016): its content is one picture's, its
// texture another's. The features are those of a convolution with random weights, which suffices for textures (Ustyuzhaninov et al. 2017).
//
//   ./style [STEPS [FILE.npz [THREADS]]]
//
// FILE keeps the picture: the program goes on from there, bit for bit as if it had not been left.
#include <mxc/mxc.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>
using namespace mxc;

constexpr int kSize = 32, kFilters = 32, kPlaces = kSize * kSize;

MXC_MODEL(style) {
  Symbol image = input("image", {batch(1), 1, kSize, kSize}, f32, {.gradient = true});
  Symbol content = input("content", {batch(1), 1, kSize / 4, kSize / 4});
  Symbol texture = input("texture", {batch(1), kFilters, kFilters});

  const Param frozen = {.init = xavier(), .gradient = GradientRequest::none};
  Symbol features = relu(conv2d(image, {.filters = kFilters, .kernel = 5, .pad = 2, .weight = frozen, .bias = false}));
  Symbol flat = reshape(features, {.shape = {-1, kFilters, kPlaces}});
  Symbol gram = matmul(flat, flat, {.transpose_b = true}) / double(kPlaces);  // which features come together, wherever
  Symbol coarse = avg_pool(image, {.kernel = 4, .stride = 4});

  minimize(mse_loss(gram, texture) * 1000 + mse_loss(coarse, content));
  output("gram", gram);
  output("coarse", coarse);
}

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 300, threads = argc > 3 ? std::atoi(argv[3]) : 0;
  const std::string kept = argc > 2 ? argv[2] : "";
  set_engine({.threads = threads});
  Executor net(style, cpu(), {.seed = 1, .threads = threads});

  std::vector<float> disc(kPlaces), stripes(kPlaces);
  for (int y = 0; y < kSize; ++y) {
    for (int x = 0; x < kSize; ++x) {
      const int dx = 2 * x - kSize + 1, dy = 2 * y - kSize + 1;
      disc[static_cast<size_t>(y * kSize + x)] = dx * dx + dy * dy < kSize * kSize / 2 ? 0.9f : 0.1f;
      stripes[static_cast<size_t>(y * kSize + x)] = (x + y) % 6 < 3 ? 1.0f : 0.0f;
    }
  }
  const auto targets = [&](const std::vector<float>& picture) {
    net["image"] = NDArray::from(picture, {1, 1, kSize, kSize});
    net.forward();
  };
  targets(disc);
  net["content"] = net["coarse"];
  targets(stripes);
  net["texture"] = net["gram"];

  NDArray image = random::uniform({1, 1, kSize, kSize}, {.seed = 2}, 0.4, 0.6);
  NDArray speed = NDArray::zeros({1, 1, kSize, kSize});
  int first = 0;
  if (!kept.empty() && std::filesystem::exists(kept)) {
    image = NDArray::load(kept, "image");
    speed = NDArray::load(kept, "speed");
    first = NDArray::load(kept, "steps").item<int32_t>();
  }
  for (int step = first; step <= steps; ++step) {
    net["image"] = image;
    net.forward_backward();
    if (step % 100 == 0 || step == steps) std::printf("step %d: loss %.6f\n", step, net.loss().item<double>());
    const NDArray gradient = net.gradient("image");
    speed = 0.9f * speed - 2.0f * gradient;
    image = clip(image + speed, 0, 1);
  }
  if (!kept.empty()) save(kept, {{"image", image}, {"speed", speed}, {"steps", NDArray::from(std::vector<int32_t>{steps + 1})}});
  const std::vector<float> pixels = image.to_vector<float>();
  for (int y = 0; y < kSize; y += 2) {
    for (int x = 0; x < kSize; ++x) std::putchar(" .:-=+*#%@"[static_cast<int>(pixels[static_cast<size_t>(y * kSize + x)] * 9.99f)]);
    std::putchar('\n');
  }
}
