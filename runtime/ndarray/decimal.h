// The decimal digits of a binary number, as NumPy makes them: exact arithmetic on integers, by Steele and White's algorithm (PLDI 1990) in the
// form of Burger and Dybvig (PLDI 1996).
//
// Digits are made one by one, and are enough as soon as they mean this number and no other of its type. A caller may ask for more, which are
// those of the exact value, or for less, which are rounded.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/core/plan.h"

namespace mxc::ndarray {

struct Decimal {
  std::string digits;  // one at least, without a point
  int exponent;        // of ten, of the first
};

// How many digits, counted from the point or from the first digit.
struct DigitCount {
  enum class From { point, first } from = From::first;
  int fewest = kNone, most = kAll;
  static constexpr int kNone = -10000, kAll = 10000;
};

// Of a magnitude, in a type of floats, that is finite and a number of the type. 0 is "0".
Decimal decimal(double magnitude, plan::DType dtype, const DigitCount& count = {});

}  // namespace mxc::ndarray
