// NDArray's kernels on 10^6 elements: GB/s of what they read and write, and what part that is of a triad measured in the same run.
//
// The triad is a[i] = b[i] + s * c[i] over three arrays of as many bytes, as a compiler vectorises it. One thread, wall time, the best of
// the rounds; kernels and triad take turns, so that other work on the machine disturbs both alike.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/core/plan_view.h"
#include "runtime/ndarray/kernels.h"

namespace mxc::ndarray {
namespace {

using plan::DType;

constexpr int64_t kSize = 1'000'000;
constexpr int kRounds = 200;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

#if defined(__x86_64__)
__attribute__((target("avx2,fma"), noinline))
#else
__attribute__((noinline))
#endif
void triad(float* __restrict a, const float* __restrict b, const float* __restrict c, float s, int64_t n) {
  for (int64_t i = 0; i < n; ++i) a[i] = b[i] + s * c[i];
}

struct Entry {
  const char* name;
  DType dtype;
  unsigned scalars;
};

void measure(const Entry& entry, std::vector<float> (&triads)[3], double& best_triad) {
  const KernelFamily* family = find_family(entry.name);
  const Kernel* k = family ? family->find(entry.dtype, entry.scalars) : nullptr;
  if (!k) return void(std::printf("%-28s is not there\n", entry.name));
  int64_t bytes = 0;
  std::vector<std::vector<char>> arrays;
  std::vector<void*> args;
  for (int i = 0; i <= family->operands; ++i) {
    bool result = i == family->operands, single = !result && (entry.scalars >> i & 1);
    DType dtype = result ? k->result : entry.dtype;
    int64_t size = (single ? 1 : kSize) * core::dtype_bytes(dtype);
    arrays.emplace_back(size, 0);
    if (!single) bytes += size;
    if (dtype == DType::f32)
      for (int64_t j = 0; j < size / 4; ++j) reinterpret_cast<float*>(arrays.back().data())[j] = 0.5f;
  }
  for (auto& array : arrays) args.push_back(array.data());
  double best = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    double start = now();
    k->run(args.data(), kSize, 0, cells(*k, kSize));
    double middle = now();
    triad(triads[0].data(), triads[1].data(), triads[2].data(), 3.0f, kSize);
    double end = now();
    best = std::min(best, middle - start);
    best_triad = std::min(best_triad, end - middle);
  }
  double speed = static_cast<double>(bytes) / best, reference = 12.0 * kSize / best_triad;
  std::string name = std::string(entry.name) + "." + std::to_string(static_cast<int>(entry.dtype)) + "." + std::to_string(entry.scalars);
  std::printf("%-28s %8.1f us %8.1f GB/s   %5.0f %% of the triad's %.1f\n", name.c_str(), best * 1e6, speed * 1e-9, 100 * speed / reference, reference * 1e-9);
}

}  // namespace
}  // namespace mxc::ndarray

int main() {
  using namespace mxc::ndarray;
  std::vector<float> triads[3];
  for (auto& array : triads) array.assign(kSize, 1.0f);
  double best = 1e9;
  std::printf("%s, %lld elements, name.dtype.scalars\n", std::string(kernel_level()).c_str(), static_cast<long long>(kSize));
  for (const Entry& entry : {Entry{"add", DType::f32, 0}, {"mul", DType::f32, 0}, {"mul", DType::f32, 1}, {"sub_mul", DType::f32, 2},
                             {"mul_add", DType::f32, 0}, {"div", DType::f32, 0}, {"less", DType::f32, 0}, {"relu", DType::f32, 0},
                             {"exp", DType::f32, 0}, {"tanh", DType::f32, 0}, {"add", DType::f64, 0}, {"add", DType::f16, 0},
                             {"add", DType::bf16, 0}, {"add", DType::u8, 0}, {"add", DType::i32, 0}, {"cast.f16", DType::f32, 0},
                             {"reduce_sum", DType::f32, 0}, {"softmax", DType::f32, 0}})
    measure(entry, triads, best);
  // A call on 16 floats.
  const Kernel* add = find_kernel("add", mxc::plan::DType::f32);
  float a[16] = {}, b[16] = {}, c[16];
  void* args[] = {a, b, c};
  double start = now();
  constexpr int kCalls = 1'000'000;
  for (int i = 0; i < kCalls; ++i) add->run(args, 16, 0, 1);
  std::printf("add of 16 floats             %8.1f ns a call\n", (now() - start) / kCalls * 1e9);
  return 0;
}
