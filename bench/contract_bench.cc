// GFLOP/s of generated contractions, and what part that is of the peak of fused multiply-adds measured between the runs.
//
// contract_bench [name part [--asm]]: one line a case. One thread, its processor time. The first figure is the best whole run of the
// rounds, from end to end. The last is the sum of the best times of pieces of the grid, about a millisecond each: what the run takes
// where no other work disturbs it.
#include <cstdio>
#include <cstring>
#include <numeric>
#include <string>
#include <time.h>

#include "tests/compiler/codegen/op_cases.h"

namespace mxc {
namespace {

// Seconds of processor time of this thread: other work on the machine counts less than with a wall clock.
double now() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

using Lanes = float __attribute__((vector_size(32)));

// FLOP/s of twelve independent chains of 8-wide fused multiply-adds, the most that a core does.
__attribute__((target("avx2,fma"), noinline)) double peak() {
  constexpr int kChains = 12;
  constexpr long kSteps = 100000;
  Lanes sums[kChains] = {}, a = {1, 1, 1, 1, 1, 1, 1, 1}, b = {};
  asm volatile("" : "+x"(a), "+x"(b));
  double start = now();
  for (long i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) asm volatile("vfmadd231ps %1, %2, %0" : "+x"(sums[c]) : "x"(a), "x"(b));
  }
  double seconds = now() - start;
  for (Lanes& sum : sums) asm volatile("" : : "x"(sum));
  return 2.0 * 8 * kChains * kSteps / seconds;
}

constexpr int kRounds = 30;

struct Entry {
  std::string name;
  OpCase op;
  double flops;
  int64_t n;
};

std::vector<Entry> entries() {
  std::vector<Entry> all;
  auto product = [&](const char* name, ProductShape s) {
    all.push_back({name, productCase(s), s.flops(), s.batch == 'm' ? s.m : s.batch == 'k' ? s.k : s.batch == 'n' ? s.n : 1});
  };
  auto conv = [&](const std::string& name, ConvShape s, bool data = true) {
    all.push_back({name + " forward", convCase(s, Direction::forward), s.flops(), s.n});
    if (data) all.push_back({name + " data", convCase(s, Direction::data), s.flops(), s.n});
    all.push_back({name + " weight", convCase(s, Direction::weight), s.flops(), s.n});
  };
  product("gemm 1024", {.m = 1024, .k = 1024, .n = 1024, .batch = '-'});
  conv("3x3 64->64 56x56", {.n = 1, .ic = 64, .h = 56, .w = 56, .oc = 64, .kh = 3, .kw = 3, .pad = 1});
  conv("1x1 256->64 56x56", {.n = 1, .ic = 256, .h = 56, .w = 56, .oc = 64});
  conv("3x3 512->512 7x7", {.n = 1, .ic = 512, .h = 7, .w = 7, .oc = 512, .kh = 3, .kw = 3, .pad = 1});
  conv("lenet conv1", {.n = 64, .ic = 1, .h = 28, .w = 28, .oc = 20, .kh = 5, .kw = 5}, false);
  conv("lenet conv2", {.n = 64, .ic = 20, .h = 12, .w = 12, .oc = 50, .kh = 5, .kw = 5});
  product("lenet dense1 forward", {.m = 64, .k = 800, .n = 500, .transposeB = true});
  product("lenet dense1 data", {.m = 64, .k = 500, .n = 800});
  product("lenet dense1 weight", {.m = 500, .k = 64, .n = 800, .transposeA = true, .batch = 'k'});
  product("lenet dense2 forward", {.m = 64, .k = 500, .n = 10, .transposeB = true});
  product("lenet dense2 data", {.m = 64, .k = 10, .n = 500});
  product("lenet dense2 weight", {.m = 10, .k = 64, .n = 500, .transposeA = true, .batch = 'k'});
  return all;
}

bool run(const Entry& entry, bool assembly) {
  auto program = OpProgram::compile(entry.op);
  if (!program) return false;
  if (assembly) std::fputs(program->assembly().c_str(), stdout);
  std::vector<float> a(program->operand(0).elements, 0.5f), b(program->operand(1).elements, 0.25f), r(program->result().elements, 0);
  std::vector<void*> arguments = {a.data(), b.data(), r.data()};
  double start = now();
  program->run(arguments, entry.n);
  int parts = static_cast<int>(std::clamp((now() - start) / 1e-3, 1.0, static_cast<double>(program->cells(entry.n))));
  int times = std::clamp(static_cast<int>(5e7 / entry.flops), 1, 100);  // short kernels are run several times a measurement
  auto timed = [&](double& least, auto&& work) {
    double start = now();
    for (int i = 0; i < times; ++i) work();
    least = std::min(least, (now() - start) / times);
  };
  std::vector<double> best(program->kernels() * parts, 1e9);
  double whole = 1e9, top = 0;
  for (int round = 0; round < kRounds; ++round) {
    top = std::max(top, peak());
    timed(whole, [&] { program->run(arguments, entry.n); });
    for (size_t kernel = 0; kernel < program->kernels(); ++kernel)
      for (int part = 0; part < parts; ++part)
        timed(best[kernel * parts + part], [&] { program->runPiece(arguments, entry.n, kernel, part, parts); });
  }
  double pieces = std::accumulate(best.begin(), best.end(), 0.0);
  auto percent = [&](double seconds) { return 100 * entry.flops / seconds / top; };
  std::printf("%-26s %8.1f GFLOP/s %5.1f %% of %.1f  %9.3f ms  %5.1f %% by pieces  %lld cells\n", entry.name.c_str(),
              entry.flops / whole / 1e9, percent(whole), top / 1e9, whole * 1e3, percent(pieces),
              static_cast<long long>(program->cells(entry.n)));
  return true;
}

}  // namespace
}  // namespace mxc

int main(int argc, char** argv) {
  std::string part = argc > 1 ? argv[1] : "";
  bool assembly = argc > 2 && std::strcmp(argv[2], "--asm") == 0, good = true;
  for (const mxc::Entry& entry : mxc::entries())
    if (entry.name.find(part) != std::string::npos) good &= mxc::run(entry, assembly);
  return good ? 0 : 70;
}
