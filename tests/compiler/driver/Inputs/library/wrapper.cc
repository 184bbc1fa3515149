// The C++ face: spans of vectors and arrays, contexts that move and end, refusals.
#include <array>
#include <cstdio>
#include <utility>
#include <vector>

#include "lenet.hpp"

int main() {
  std::vector<float> image(LENET_BATCH * LENET_INPUT_IMAGE_ELEMENTS, 0.5f);
  const std::vector<float>& same = image;
  std::array<float, 3 * LENET_OUTPUT_PROBABILITY_ELEMENTS> probability{};
  float one[LENET_OUTPUT_PROBABILITY_ELEMENTS] = {};

  lenet::model net;
  std::printf("made %d\n", net.status());
  std::printf("three %d\n", net.run({same}, {probability}, 3));
  lenet::model moved = std::move(net);
  std::printf("one %d\n", moved.run({{image.data(), LENET_INPUT_IMAGE_ELEMENTS}}, {one}));
  std::printf("same %d\n", probability[0] == one[0] && probability[9] == one[9] && one[0] > 0);
  std::printf("moved from %d %d\n", net.status(), net.run({image}, {probability}, 3));
  net = std::move(moved);
  std::printf("moved to %d %d, from %d\n", net.status(), net.run({image}, {one}), moved.run({image}, {one}));
  moved = std::move(net);
  std::printf("not wanted %d\n", moved.run({image}, {}));
  std::printf("short input %d\n", moved.run({{image.data(), 3 * LENET_INPUT_IMAGE_ELEMENTS - 1}}, {probability}, 3));
  std::printf("short output %d\n", moved.run({image}, {one}, 2));
  std::printf("no samples %d\n", moved.run({image}, {one}, 0));
  std::printf("too many %d\n", moved.run({image}, {one}, LENET_BATCH + 1));

  alignas(LENET_ALIGN) static char arena[LENET_ARENA_BYTES];
  std::printf("in an arena %d\n", lenet::model(arena, sizeof arena).run({image}, {one}));
  std::printf("short arena %d\n", lenet::model(arena, sizeof arena - 1).status());
}
