// The C++ face of training.
#include <cstdio>
#include <vector>

#include "digits.hpp"

int main() {
  std::vector<float> image(DIGITS_BATCH * DIGITS_TRAIN_INPUT_IMAGE_ELEMENTS);
  std::vector<std::int32_t> label(DIGITS_BATCH);
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(i % 5) / 5;
  for (std::size_t i = 0; i < label.size(); ++i) label[i] = static_cast<std::int32_t>(i % 10);
  float loss[1] = {}, probability[DIGITS_OUTPUT_PROBABILITY_ELEMENTS] = {}, before[DIGITS_OUTPUT_PROBABILITY_ELEMENTS] = {};

  digits::model net;
  std::printf("made %d\n", net.status());
  net.run({image}, {before});
  std::printf("step %d\n", net.train_step({image, label}, {loss, {}}, DIGITS_BATCH));
  net.run({image}, {probability});
  std::printf("learns %d\n", probability[0] != before[0] && loss[0] > 0);
  std::printf("short input %d\n", net.train_step({{image.data(), 64}, label}, {loss, {}}, 2));
  std::printf("short loss %d\n", net.train_step({image, label}, {{loss, 0}, {}}, 2));
  std::printf("no samples %d\n", net.train_step({image, label}, {loss, {}}, 0));
  std::printf("not wanted %d\n", net.train_step({image, label}, {}, 1));
  digits::hypers hypers;
  int status = net.get(hypers);
  hypers.lr /= 2;
  std::printf("hypers %d\n", status | net.set(hypers));
  std::printf("seed %d\n", net.set_seed(3));
  std::int64_t steps = 0;
  net.count_steps(steps);
  std::printf("steps %d\n", static_cast<int>(steps));
  std::vector<unsigned char> state(DIGITS_STATE_BYTES);
  std::printf("save %d\n", net.save(state));
  std::printf("short save %d\n", net.save({state.data(), 100}));
  std::printf("load %d\n", net.load(state));
  std::printf("short load %d\n", net.load({state.data(), 100}));
}
