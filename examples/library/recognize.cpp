// examples/library/recognize.cpp: a trained model in a C++ program, with spans whose sizes are looked at.
//
//   recognize_cpp PICTURES PROBABILITIES N
//
// Float32 numbers, 64 a picture in and 10 a picture out; N pictures a run.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <vector>

#include "digits.hpp"

int main(int argc, char** argv) {
  const std::size_t n = argc == 4 ? std::strtoul(argv[3], nullptr, 10) : 0;
  if (n < 1 || n > DIGITS_BATCH) {
    std::cerr << "usage: recognize_cpp PICTURES PROBABILITIES N, N from 1 to " << DIGITS_BATCH << "\n";
    return 2;
  }
  std::ifstream in(argv[1], std::ios::binary);
  std::ofstream out(argv[2], std::ios::binary);
  if (!in || !out) {
    std::cerr << "recognize_cpp: cannot open " << argv[in ? 2 : 1] << "\n";
    return 1;
  }
  std::vector<float> pictures(n * DIGITS_INPUT_IMAGE_ELEMENTS), probabilities(n * DIGITS_OUTPUT_PROBABILITY_ELEMENTS);
  digits::model net;
  while (in.read(reinterpret_cast<char*>(pictures.data()), static_cast<std::streamsize>(pictures.size() * sizeof(float))), in.gcount() > 0) {
    const std::int64_t count = in.gcount() / static_cast<std::streamsize>(DIGITS_INPUT_IMAGE_ELEMENTS * sizeof(float));
    if (int status = net.run({pictures}, {probabilities}, count); status != DIGITS_OK) {
      std::cerr << "recognize_cpp: " << digits_status_text(status) << "\n";
      return 1;
    }
    const std::size_t answers = static_cast<std::size_t>(count) * DIGITS_OUTPUT_PROBABILITY_ELEMENTS;
    out.write(reinterpret_cast<const char*>(probabilities.data()), static_cast<std::streamsize>(answers * sizeof(float)));
  }
  return out.flush() ? 0 : 1;
}
