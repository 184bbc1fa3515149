// Writes the archive that numpy_reads_npz.py checks. Usage: npz_writer FILE
#include <cstdint>
#include <fstream>

#include "runtime/io/npz.h"

namespace {

template <typename T, size_t kCount>
std::string bytes_of(const T (&values)[kCount]) {
  return std::string(reinterpret_cast<const char*>(values), sizeof values);
}

}  // namespace

int main(int, char** argv) {
  const float half[] = {0, 0.5f, 1, 1.5f};
  const int64_t count[] = {7, -8};
  const double scalar[] = {2.25};
  std::ofstream(argv[1], std::ios::binary) << *mxc::io::npz_bytes({{"half", {mxc::plan::DType::f32, {2, 2}, bytes_of(half)}},
                                                                   {"count", {mxc::plan::DType::i64, {2}, bytes_of(count)}},
                                                                   {"gr\xc3\xb6\xc3\x9f" "e", {mxc::plan::DType::f64, {}, bytes_of(scalar)}}},
                                                                  argv[1]);
  return 0;
}
