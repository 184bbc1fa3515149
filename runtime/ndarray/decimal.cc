// See decimal.h.
#include "runtime/ndarray/decimal.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace mxc::ndarray {
namespace {

// A natural number of up to 1280 bits: 10 * 2^1075 has 1079, and so has the smallest double over 10^-324.
class Natural {
 public:
  explicit Natural(uint64_t value) : words_{static_cast<uint32_t>(value), static_cast<uint32_t>(value >> 32)} {}

  void multiply(uint32_t factor) {
    uint64_t carry = 0;
    for (uint32_t& word : words_) {
      carry += uint64_t{word} * factor;
      word = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
  }
  void multiply_by_power(uint32_t base, int exponent) {
    for (; exponent > 0; --exponent) multiply(base);
  }
  void shift_left(int bits) {
    for (; bits >= 31; bits -= 31) multiply(uint32_t{1} << 31);
    multiply(uint32_t{1} << bits);
  }
  Natural operator+(const Natural& other) const {
    Natural sum(0);
    uint64_t carry = 0;
    for (int i = 0; i < kWords; ++i) {
      carry += uint64_t{words_[i]} + other.words_[i];
      sum.words_[i] = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    return sum;
  }
  // Requires: other <= *this.
  void subtract(const Natural& other) {
    uint64_t borrow = 0;
    for (int i = 0; i < kWords; ++i) {
      const uint64_t difference = uint64_t{words_[i]} - other.words_[i] - borrow;
      words_[i] = static_cast<uint32_t>(difference);
      borrow = difference >> 63;
    }
  }
  // Less than 0, 0 or more, as this is less than the other, equal or more.
  int compare(const Natural& other) const {
    for (int i = kWords - 1; i >= 0; --i) {
      if (words_[i] != other.words_[i]) return words_[i] < other.words_[i] ? -1 : 1;
    }
    return 0;
  }

 private:
  static constexpr int kWords = 40;
  uint32_t words_[kWords] = {};
};

struct Format {
  int bits, smallest;  // of the mantissa; exponent of two of the smallest number
};
Format format_of(plan::DType dtype) {
  switch (dtype) {
    case plan::DType::f64: return {53, -1074};
    case plan::DType::f16: return {11, -24};
    case plan::DType::bf16: return {8, -133};
    default: return {24, -149};
  }
}

// value / scale, and half the distances to the numbers below and above it, over the same scale. Less than 10 after `Ratio`.
struct Ratio {
  Natural value, scale{2}, below{1}, above{1};
  bool even;     // the last bit of the mantissa is 0: numbers half-way to a neighbour are read as this one
  int exponent;  // of ten, of the first digit

  Ratio(double magnitude, const Format& format) : value(0) {
    const int two = std::max(std::ilogb(magnitude) - (format.bits - 1), format.smallest);
    const auto mantissa = static_cast<uint64_t>(std::ldexp(magnitude, -two));
    even = mantissa % 2 == 0;
    value = Natural(mantissa);
    value.shift_left(1);
    if (mantissa == uint64_t{1} << (format.bits - 1) && two > format.smallest) {  // the one below is nearer
      value.shift_left(1), scale.shift_left(1), above.shift_left(1);
    }
    if (two > 0) {
      value.shift_left(two), below.shift_left(two), above.shift_left(two);
    } else {
      scale.shift_left(-two);
    }
    exponent = static_cast<int>(std::floor(std::log10(magnitude)));
    scale.multiply_by_power(10, exponent);
    for (int i = exponent; i < 0; ++i) times_ten();
    // The logarithm is rounded.
    Natural ten = scale;
    ten.multiply(10);
    if (value.compare(ten) >= 0) scale = ten, ++exponent;
    if (value.compare(scale) < 0) times_ten(), --exponent;
  }

  void times_ten() { value.multiply(10), below.multiply(10), above.multiply(10); }

  // Takes the digit before the point off.
  int next_digit() {
    int digit = 0;
    for (; value.compare(scale) >= 0; ++digit) value.subtract(scale);
    return digit;
  }
  // Do the digits so far, and those with the last one increased, mean this number?
  bool lower_means_it() const { return value.compare(below) < (even ? 1 : 0); }
  bool upper_means_it() const { return (value + above).compare(scale) >= (even ? 0 : 1); }
  // Is what is left more than half of the last digit's unit, or half and that digit odd?
  bool nearer_to_upper(int digit) const {
    const int half = (value + value).compare(scale);
    return half > 0 || (half == 0 && digit % 2 == 1);
  }
};

void increase(Decimal* decimal) {
  std::string& digits = decimal->digits;
  while (!digits.empty() && digits.back() == '9') digits.pop_back();
  if (!digits.empty()) {
    ++digits.back();
  } else {
    digits = "1";
    ++decimal->exponent;
  }
}

}  // namespace

Decimal decimal(double magnitude, plan::DType dtype, const DigitCount& count) {
  if (magnitude == 0) return {"0", 0};
  Ratio ratio(magnitude, format_of(dtype));
  Decimal result{"", ratio.exponent};
  // Digits are counted from here on: 1 is the first behind the point, or of all.
  for (int made = count.from == DigitCount::From::point ? -ratio.exponent : 1;; ++made, ratio.times_ten()) {
    const int digit = ratio.next_digit();
    result.digits += static_cast<char>('0' + digit);
    const bool lower = ratio.lower_means_it(), upper = ratio.upper_means_it();
    if (!((lower || upper) && made >= count.fewest) && made < count.most) continue;
    if (lower == upper ? ratio.nearer_to_upper(digit) : upper) increase(&result);
    return result;
  }
}

}  // namespace mxc::ndarray
