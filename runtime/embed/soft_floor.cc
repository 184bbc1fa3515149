// floor in f32 for targets without an instruction for it, bit for bit the C library's.
#include <stdint.h>

extern "C" float mxc_soft_floorf(float x) {
  if (!(x < 0x1p23f && x > -0x1p23f)) return x;  // an integer, infinite, or no number
  float whole = static_cast<float>(static_cast<int32_t>(x));
  if (whole > x) whole -= 1;
  return __builtin_copysignf(whole, x);  // for -0
}
