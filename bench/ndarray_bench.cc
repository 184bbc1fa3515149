// What NDArray costs: small operations in a chain, and long arrays against the bandwidth of memory, measured in the same run.
//
//   ndarray_bench [small]
//
//   small    on 16 floats, 10^5 times one after another, then one wait: microseconds of processor time for each, all threads together, of
//            the best of several runs.
//   long     10^6 floats: bytes that the written operation must move (its operands and its result once) by the time of one, against
//            a triad a[i] = b[i] + s * c[i] in plain C++. Best of many short runs, taken in turns with the triad. The triad runs on one
//            thread, long operations on all that the process may use: `taskset -c 0` compares one with one.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <vector>

#include "mxc/ndarray.h"

namespace {

using mxc::NDArray;

double seconds(const std::function<void()>& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

// Of all threads of this process together.
double processor_seconds(const std::function<void()>& work) {
  const std::clock_t began = std::clock();
  work();
  return static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
}

constexpr int kRuns = 15, kLongRuns = 200, kChain = 100000, kRepeats = 5;
constexpr int64_t kLong = 1000000;

void small(const char* name, const std::function<void()>& one, const NDArray& result) {  // `result`: the handle that one() may replace
  double best = 1e9;
  for (int run = 0; run < kRuns; ++run) {
    best = std::min(best, processor_seconds([&] {
                      for (int i = 0; i < kChain; ++i) one();
                      result.wait();
                    }));
  }
  std::printf("%-24s %7.3f us\n", name, best / kChain * 1e6);
}

struct Triad {
  std::vector<float> a = std::vector<float>(kLong, 1), b = a, c = a;
  float s = 0.5f;

  __attribute__((noinline)) void run() {
    float *pa = a.data(), *pb = b.data(), *pc = c.data();
    for (int64_t i = 0; i < kLong; ++i) pa[i] = pb[i] + s * pc[i];
    asm volatile("" : : "r"(pa) : "memory");
  }
};

// `arrays`: of kLong floats, that one() reads and writes.
void large(const char* name, int arrays, const std::function<void()>& one, const std::function<void()>& wait) {
  Triad triad;
  double best = 1e9, reference = 1e9;
  for (int run = 0; run < kLongRuns; ++run) {
    reference = std::min(reference, seconds([&] {
                           for (int i = 0; i < kRepeats; ++i) triad.run();
                         }));
    best = std::min(best, seconds([&] {
                      for (int i = 0; i < kRepeats; ++i) one();
                      wait();
                    }));
  }
  const double bytes = 4.0 * kLong * kRepeats, rate = arrays * bytes / best / 1e9, peak = 3 * bytes / reference / 1e9;
  std::printf("%-24s %7.2f GB/s   triad %7.2f GB/s   %3.0f %%\n", name, rate, peak, 100 * rate / peak);
}

}  // namespace

int main(int argc, char** argv) {
  const bool only_small = argc == 2 && std::strcmp(argv[1], "small") == 0;
  {
    NDArray x = NDArray::ones({16}), g = NDArray::ones({16});
    const NDArray y = NDArray::zeros({16});
    small("x = x + y, 16 floats", [&] { x = x + y; }, x);
    small("x += y, 16 floats", [&] { x += y; }, x);
    small("p -= 0.1 * g, 16 floats", [&] { x -= 0.1f * g; }, x);
  }
  if (only_small) return 0;
  NDArray a = NDArray::ones({kLong}), b = NDArray::ones({kLong}), c = NDArray::ones({kLong}), d;
  large("d = a + b", 3, [&] { d = a + b; }, [&] { d.wait(); });
  large("a += b", 3, [&] { a += b; }, [&] { a.wait(); });
  large("d = a * b + c", 4 + 2, [&] { d = a * b + c; }, [&] { d.wait(); });
  large("p -= 0.1 * g", 3, [&] { a -= 0.1f * b; }, [&] { a.wait(); });
  large("d = a * 0.5 + c", 3, [&] { d = a * 0.5 + c; }, [&] { d.wait(); });
  large("d = maximum(-a, c) * b", 2 + 3 + 3, [&] { d = maximum(-a, c) * b; }, [&] { d.wait(); });
  const NDArray square = a.reshape({1000, 1000}), cube = a.reshape({100, 100, 100});
  large("sum(a)", 1, [&] { d = mxc::sum(a); }, [&] { d.wait(); });
  large("sum, rows of 1000", 1, [&] { d = mxc::sum(square, {.axes = {1}}); }, [&] { d.wait(); });
  large("sum, columns of 1000", 1, [&] { d = mxc::sum(square, {.axes = {0}}); }, [&] { d.wait(); });
  large("sum, 100 x 100 rows", 1, [&] { d = mxc::sum(cube, {.axes = {1, 2}}); }, [&] { d.wait(); });
  large("sum, 100 x 100 columns", 1, [&] { d = mxc::sum(cube, {.axes = {0, 1}}); }, [&] { d.wait(); });
  return 0;
}
