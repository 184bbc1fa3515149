// See choose.h. A level needs its instructions, and an operating system that keeps the registers which they use.
#include <cpuid.h>

#include "runtime/embed/choose.h"

namespace mxc::embed {

namespace {

// Registers that the operating system keeps (XCR0): of SSE and AVX; of AVX-512, too.
constexpr uint32_t kAvxState = 0x6, kAvx512State = 0xe6;

bool all(uint32_t found, uint32_t wanted) { return (found & wanted) == wanted; }

uint32_t kept_registers() {
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

}  // namespace

int x86_level() {
  uint32_t a, b, c, d, extended_b, extended_c = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !all(c, bit_FMA | bit_MOVBE | bit_OSXSAVE | bit_AVX | bit_F16C)) return 1;
  uint32_t kept = kept_registers();
  if (!all(kept, kAvxState)) return 1;
  if (!__get_cpuid(0x80000001, &a, &b, &extended_c, &d) || !all(extended_c, bit_LZCNT)) return 1;
  if (!__get_cpuid_count(7, 0, &a, &extended_b, &c, &d) || !all(extended_b, bit_AVX2 | bit_BMI | bit_BMI2)) return 1;
  bool wide = all(extended_b, bit_AVX512F | bit_AVX512BW | bit_AVX512CD | bit_AVX512DQ | bit_AVX512VL);
  return wide && all(kept, kAvx512State) ? 4 : 3;
}

}  // namespace mxc::embed
