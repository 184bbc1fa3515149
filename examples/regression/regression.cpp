// examples/regression/regression.cpp: imperative code alone, without a model: a line through noisy points by gradient descent. What is
// computed is queued, and printing waits for what it prints. Usage: regression [THREADS]
#include <mxc/mxc.h>

#include <cstdlib>
#include <iostream>
using namespace mxc;

int main(int argc, char** argv) {
  if (argc > 1) set_engine({.threads = std::atoi(argv[1])});
  random::Generator numbers(1);
  NDArray x = numbers.uniform({200, 1}, -1, 1), noise = numbers.normal({200, 1}, 0, 0.1);
  NDArray y = 3.0f * x - 0.5f + noise;
  NDArray slope = NDArray::zeros({1, 1}), offset = NDArray::zeros({1});
  for (int step = 0; step < 300; ++step) {
    NDArray error = matmul(x, slope) + offset - y;
    slope -= 0.5f * mean(error * x);
    offset -= 0.5f * mean(error);
  }
  NDArray rest = matmul(x, slope) + offset - y;
  std::cout << "slope " << slope.item<float>() << ", offset " << offset.item<float>() << ", mean square " << mean(rest * rest).item<float>()
            << "\n";
}
