// a * b + c in f32, rounded once, for targets without an instruction for it: so that results are the same bits there, too.
//
// The product of two f32 is exact in f64. Their sum with c is rounded to odd: where it is not exact and its last bit is 0, the neighbour
// towards the exact value is taken. f64 has more than two bits beyond f32, hence rounding that to f32 gives what one rounding would (Boldo and
// Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd", IEEE TC 2008).
#include <stdint.h>

extern "C" float mxc_soft_fmaf(float a, float b, float c) {
  double product = static_cast<double>(a) * static_cast<double>(b), addend = c, sum = product + addend;
  if (!(sum - sum == 0)) return static_cast<float>(sum);  // infinite or no number: nothing to correct
  double part = sum - product, error = (product - (sum - part)) + (addend - part);
  uint64_t bits;
  __builtin_memcpy(&bits, &sum, sizeof bits);
  if (error != 0 && (bits & 1) == 0) bits += (error > 0) == (sum > 0) ? 1 : -1;
  __builtin_memcpy(&sum, &bits, sizeof sum);
  return static_cast<float>(sum);
}
