// Text of arrays as NumPy's str() makes it with its default options: 8 digits, columns aligned, lines of 75 characters, and of arrays of
// more than 1000 elements the first and last three along each axis.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ostream>

#include "absl/strings/str_cat.h"
#include "runtime/ndarray/copy.h"
#include "runtime/ndarray/decimal.h"
#include "runtime/ndarray/small_float.h"

namespace mxc {

using namespace ndarray;

namespace {

constexpr int kPrecision = 8, kEdge = 3;
constexpr int64_t kSummarised = 1000;
constexpr size_t kLine = 75;

// ---- Floats

// A float of any of the types.
struct Real {
  double value;
  plan::DType dtype;

  Decimal digits(const DigitCount& count = {}) const { return decimal(std::fabs(value), dtype, count); }
};

// What a number is printed from: digits before and behind the point, an exponent or none.
struct Parts {
  std::string whole, fraction, exponent;
};

// "120" and "", "1" and "25", "0" and "0125".
Parts positional(const Decimal& d) {
  if (d.exponent < 0) return {"0", std::string(static_cast<size_t>(-d.exponent - 1), '0') + d.digits, ""};
  Parts parts{d.digits, "", ""};
  const auto before = static_cast<size_t>(d.exponent) + 1;
  if (d.digits.size() > before) parts = {d.digits.substr(0, before), d.digits.substr(before), ""};
  parts.whole.resize(before, '0');
  return parts;
}

// "1", "25" and "e+02".
Parts scientific(const Decimal& d) {
  char exponent[16];
  std::snprintf(exponent, sizeof exponent, "e%+03d", d.exponent);
  return {d.digits.substr(0, 1), d.digits.substr(1), exponent};
}

// How the floats of one array are printed, all alike.
struct FloatFormat {
  bool exponents = false;
  size_t left = 0, right = 0;  // widths on both sides of the point, sign included on the left
  size_t exponent = 0;         // with the e and the sign

  void fit(const std::vector<Real>& reals) {
    double largest = 0, smallest = 0;
    bool any = false;
    for (const Real& real : reals) {
      const double magnitude = std::fabs(real.value);
      if (!std::isfinite(magnitude) || magnitude == 0) continue;
      largest = any ? std::max(largest, magnitude) : magnitude;
      smallest = any ? std::min(smallest, magnitude) : magnitude;
      any = true;
    }
    exponents = any && (largest >= 1e8 || smallest < 1e-4 || rounded(largest / smallest, reals[0].dtype) > 1000);
    for (const Real& real : reals) {
      if (!std::isfinite(real.value)) continue;
      const Parts parts = split(real, 0);
      left = std::max(left, parts.whole.size() + (std::signbit(real.value) ? 1 : 0));
      right = std::max(right, parts.fraction.size());
      exponent = std::max(exponent, parts.exponent.size());
    }
    // Room for nan and inf, which have no point.
    for (const Real& real : reals) {
      if (std::isfinite(real.value)) continue;
      const size_t length = real.value < 0 ? 4 : 3, around = right + 1 + exponent;
      if (left + around < length) left = length - around;
    }
  }

  // With as many digits behind the point as tell the number from others, but at most kPrecision, and not fewer than these where there is an exponent.
  // Those before the point are exact.
  Parts split(const Real& real, size_t fewest) const {
    if (!exponents) return without_zeros(positional(real.digits({DigitCount::From::point, 0, kPrecision})));
    Parts parts = scientific(real.digits({DigitCount::From::first, static_cast<int>(fewest) + 1, kPrecision + 1}));
    parts = without_zeros(parts);
    if (parts.fraction.size() < fewest) parts.fraction.resize(fewest, '0');
    return parts;
  }

  static Parts without_zeros(Parts parts) {
    while (!parts.fraction.empty() && parts.fraction.back() == '0') parts.fraction.pop_back();
    return parts;
  }

  std::string operator()(const Real& real) const {
    const size_t width = left + 1 + right + exponent;
    if (!std::isfinite(real.value)) return padded(std::isnan(real.value) ? "nan" : real.value < 0 ? "-inf" : "inf", width);
    Parts parts = split(real, right);
    // Exponents come with equal digits; without, missing ones are blanks.
    parts.fraction.append(right - parts.fraction.size(), ' ');
    if (exponents) parts.exponent.insert(2, exponent - parts.exponent.size(), '0');
    const std::string text = absl::StrCat(std::signbit(real.value) ? "-" : "", parts.whole, ".", parts.fraction, parts.exponent);
    return padded(text, width);
  }

  static std::string padded(const std::string& text, size_t width) {
    return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
  }
};

// ---- Elements of an array

struct Elements {
  NDArray array;  // contiguous, waited for
  const Array& a;

  const char* at(int64_t i) const { return static_cast<const char*>(a.chunk->memory) + (a.offset + i) * bytes_of(a.dtype); }

  template <typename T>
  T value(int64_t i) const {
    T value;
    std::memcpy(&value, at(i), sizeof value);
    return value;
  }

  bool is_float() const {
    return a.dtype == plan::DType::f32 || a.dtype == plan::DType::f64 || a.dtype == plan::DType::f16 || a.dtype == plan::DType::bf16;
  }
  Real real(int64_t i) const {
    switch (a.dtype) {
      case plan::DType::f64: return {value<double>(i), a.dtype};
      case plan::DType::f16: return {f16_value(value<uint16_t>(i)), a.dtype};
      case plan::DType::bf16: return {bf16_value(value<uint16_t>(i)), a.dtype};
      default: return {value<float>(i), a.dtype};
    }
  }
  std::string whole(int64_t i) const {
    switch (a.dtype) {
      case plan::DType::boolean: return value<uint8_t>(i) != 0 ? "True" : "False";
      case plan::DType::i8: return absl::StrCat(static_cast<int>(value<int8_t>(i)));
      case plan::DType::u8: return absl::StrCat(static_cast<int>(value<uint8_t>(i)));
      case plan::DType::i32: return absl::StrCat(value<int32_t>(i));
      default: return absl::StrCat(value<int64_t>(i));
    }
  }
};

// Prints nested brackets; elements are formatted before, with one width for all.
class Printer {
 public:
  Printer(const Elements& elements) : e_(elements), shape_(elements.a.shape), strides_(row_major(elements.a.shape)) {
    summarised_ = e_.a.elements > kSummarised;
    std::vector<int64_t> shown;
    collect(0, 0, &shown);
    if (e_.is_float()) {
      std::vector<Real> reals;
      for (int64_t i : shown) reals.push_back(e_.real(i));
      format_.fit(reals);
    } else {
      // NumPy has room for False in any array of booleans.
      width_ = e_.a.dtype == plan::DType::boolean ? 5 : 0;
      for (int64_t i : shown) width_ = std::max(width_, e_.whole(i).size());
    }
  }

  std::string text() {
    if (e_.a.elements == 0) return "[]";
    return print(0, 0, 1);
  }

 private:
  // Calls visit(index) along an axis, and gap() where elements are left out.
  template <typename Visit, typename Gap>
  void along(int axis, Visit visit, Gap gap) const {
    const int64_t extent = shape_[axis];
    const bool cut = summarised_ && extent > 2 * kEdge;
    for (int64_t i = 0; i < extent; ++i) {
      if (cut && i == kEdge) {
        gap();
        i = extent - kEdge;
      }
      visit(i);
    }
  }

  void collect(int axis, int64_t at, std::vector<int64_t>* shown) const {
    if (axis == shape_.size()) return shown->push_back(at);
    along(axis, [&](int64_t i) { collect(axis + 1, at + i * strides_[axis], shown); }, [] {});
  }

  std::string element(int64_t i) const { return e_.is_float() ? format_(e_.real(i)) : FloatFormat::padded(e_.whole(i), width_); }

  // `depth`: brackets open, the width of what stands before.
  std::string print(int axis, int64_t at, size_t depth) const {
    if (axis == shape_.size() - 1) return print_row(at, depth);
    std::string out = "[";
    const std::string between = std::string(static_cast<size_t>(shape_.size() - 1 - axis), '\n') + std::string(depth, ' ');
    bool first = true;
    auto separate = [&] {
      if (!first) out += between;
      first = false;
    };
    along(axis, [&](int64_t i) { separate(), out += print(axis + 1, at + i * strides_[axis], depth + 1); }, [&] { separate(), out += "..."; });
    return out + "]";
  }

  // Words separated by blanks; where the line gets too long it goes on under the first.
  std::string print_row(int64_t at, size_t depth) const {
    const int axis = shape_.size() - 1;
    // Room for the brackets that close at the end.
    const size_t room = kLine - static_cast<size_t>(shape_.size());
    std::string out = "[";
    bool first = true;
    size_t length = depth;
    auto word = [&](const std::string& text) {
      if (!first && length + 1 + text.size() > room) {
        out.erase(out.find_last_not_of(' ') + 1);
        out += "\n" + std::string(depth, ' ');
        length = depth;
      } else if (!first) {
        out += " ";
        ++length;
      }
      out += text;
      length += text.size();
      first = false;
    };
    along(axis, [&](int64_t i) { word(element(at + i * strides_[axis])); }, [&] { word("..."); });
    return out + "]";
  }

  const Elements& e_;
  const Dims shape_, strides_;
  bool summarised_ = false;
  FloatFormat format_;
  size_t width_ = 0;
};

// A single number: all its digits.
std::string scalar_text(const Elements& e) {
  if (!e.is_float()) return e.whole(0);
  const Real real = e.real(0);
  if (std::isnan(real.value)) return "nan";
  if (std::isinf(real.value)) return real.value < 0 ? "-inf" : "inf";
  const std::string sign = std::signbit(real.value) ? "-" : "";
  const double magnitude = std::fabs(real.value);
  const bool exponent = magnitude != 0 && (magnitude >= 1e16 || magnitude < 1e-4);
  const Parts parts = exponent ? scientific(real.digits()) : positional(real.digits());
  const std::string fraction = parts.fraction.empty() && !exponent ? "0" : parts.fraction;
  return absl::StrCat(sign, parts.whole, fraction.empty() ? "" : ".", fraction, parts.exponent);
}

}  // namespace

std::string to_string(const NDArray& x, Here here) {
  NDArray plain = as_run(x, "to_string", here);
  plain.wait(here);
  const Elements elements{plain, *Access::peek(plain)};
  if (elements.a.shape.size() == 0) return scalar_text(elements);
  return Printer(elements).text();
}

std::ostream& operator<<(std::ostream& out, const Printed& x) { return out << to_string(x.array, x.here); }

}  // namespace mxc
