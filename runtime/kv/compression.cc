// See compression.h.
#include "runtime/kv/compression.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/core/plan_sizes.h"
#include "runtime/io/printable.h"
#include "runtime/kv/add.h"
#include "runtime/ndarray/small_float.h"

namespace mxc::kv {

namespace {

using Method = Compression::Method;

constexpr double kMostPart = 0.5;
template <typename T>
constexpr T kLargestHalf = 65504;

int64_t kept_of(const Compression& compression, int64_t elements) {
  return std::max<int64_t>(1, static_cast<int64_t>(std::ceil(compression.part * static_cast<double>(elements))));
}

int64_t block_bytes(const Compression& compression, int64_t width, int64_t elements) {
  switch (compression.method) {
    case Method::none: return elements * width;
    case Method::fp16:
    case Method::bf16: return elements * 2;
    case Method::two_bits: return 4 + (elements + 3) / 4;
    case Method::top: return kept_of(compression, elements) * (2 + width);
  }
  return 0;
}

template <typename T>
T load(const char* from, size_t index) {
  T value;
  std::memcpy(&value, from + index * sizeof value, sizeof value);
  return value;
}
template <typename T>
void store(char* to, size_t index, T value) {
  std::memcpy(to + index * sizeof value, &value, sizeof value);
}

template <typename T>
uint16_t to_16_bits(Method method, T value) {
  if (method == Method::bf16) return ndarray::bf16_bits(static_cast<float>(value));
  if (!std::isfinite(value)) return ndarray::f16_bits(value);
  return ndarray::f16_bits(std::clamp(value, -kLargestHalf<T>, kLargestHalf<T>));
}
template <typename T>
T from_16_bits(Method method, uint16_t bits) {
  return static_cast<T>(method == Method::bf16 ? ndarray::bf16_value(bits) : ndarray::f16_value(bits));
}

// The sums are of doubles, in order: the same whoever makes them.
template <typename T>
void pack_two_bits(const std::vector<T>& x, char* packed) {
  double sum = 0, large = 0;
  for (T value : x) sum += std::abs(static_cast<double>(value));
  const double mean = sum / static_cast<double>(x.size());
  int64_t count = 0;
  for (T value : x) {
    const double size = std::abs(static_cast<double>(value));
    if (size < mean) continue;
    large += size;
    ++count;
  }
  store(packed, 0, static_cast<float>(count == 0 ? mean : large / static_cast<double>(count)));  // without one the mean is not finite
  std::memset(packed + 4, 0, (x.size() + 3) / 4);
  for (size_t i = 0; i < x.size(); ++i) {
    const auto value = static_cast<double>(x[i]);
    if (std::abs(value) < mean || value == 0) continue;
    packed[4 + i / 4] = static_cast<char>(packed[4 + i / 4] | ((value < 0 ? 2 : 1) << (i % 4 * 2)));
  }
}

// Larger numbers have larger bits, NaN the largest.
template <typename T>
auto magnitude(T value) {
  if constexpr (sizeof(T) == 4) return std::bit_cast<uint32_t>(value) & 0x7fffffffu;
  else return std::bit_cast<uint64_t>(value) & 0x7fffffffffffffffu;
}

template <typename T>
void pack_top(const std::vector<T>& x, size_t kept, char* packed) {
  std::vector<uint16_t> places(x.size());
  std::iota(places.begin(), places.end(), uint16_t{0});
  const auto before = [&](uint16_t a, uint16_t b) {
    const auto left = magnitude(x[a]), right = magnitude(x[b]);
    return left != right ? left > right : a < b;
  };
  std::nth_element(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(kept - 1), places.end(), before);
  std::sort(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(kept));
  for (size_t i = 0; i < kept; ++i) {
    store(packed, i, places[i]);
    store(packed + 2 * kept, i, x[places[i]]);
  }
}

template <typename T>
void pack_block(const Compression& compression, const std::vector<T>& x, char* packed) {
  switch (compression.method) {
    case Method::none: std::memcpy(packed, x.data(), x.size() * sizeof(T)); return;
    case Method::fp16:
    case Method::bf16:
      for (size_t i = 0; i < x.size(); ++i) store(packed, i, to_16_bits(compression.method, x[i]));
      return;
    case Method::two_bits: return pack_two_bits(x, packed);
    case Method::top: return pack_top(x, static_cast<size_t>(kept_of(compression, static_cast<int64_t>(x.size()))), packed);
  }
}

template <typename T>
bool unpack_block(const Compression& compression, const char* packed, size_t elements, char* x) {
  switch (compression.method) {
    case Method::none: std::memcpy(x, packed, elements * sizeof(T)); return true;
    case Method::fp16:
    case Method::bf16:
      for (size_t i = 0; i < elements; ++i) store(x, i, from_16_bits<T>(compression.method, load<uint16_t>(packed, i)));
      return true;
    case Method::two_bits: {
      const T s = static_cast<T>(load<float>(packed, 0));
      const T of_code[] = {std::isfinite(s) ? T{0} : s, s, -s, T{0}};
      for (size_t i = 0; i < elements; ++i) {
        const int code = (packed[4 + i / 4] >> (i % 4 * 2)) & 3;
        if (code == 3) return false;
        store(x, i, of_code[code]);
      }
      return true;
    }
    case Method::top: break;
  }
  const auto kept = static_cast<size_t>(kept_of(compression, static_cast<int64_t>(elements)));
  std::memset(x, 0, elements * sizeof(T));
  for (size_t i = 0; i < kept; ++i) {
    const auto place = load<uint16_t>(packed, i);
    if (place >= elements || (i > 0 && place <= load<uint16_t>(packed, i - 1))) return false;
    store(x, place, load<T>(packed + 2 * kept, i));
  }
  return true;
}

template <typename T>
void pack_all(const Compression& compression, std::span<char> x, std::span<char> residual, char* packed) {
  const size_t elements = x.size() / sizeof(T);
  std::vector<T> sum;
  for (size_t first = 0; first < elements; first += kBlock) {
    const size_t count = std::min<size_t>(kBlock, elements - first);
    char *own = x.data() + first * sizeof(T), *left = residual.data() + first * sizeof(T);
    sum.resize(count);
    for (size_t i = 0; i < count; ++i) sum[i] = load<T>(own, i) + load<T>(left, i);
    pack_block(compression, sum, packed);
    unpack_block<T>(compression, packed, count, own);
    for (size_t i = 0; i < count; ++i) {
      const T rest = sum[i] - load<T>(own, i);
      store(left, i, std::isfinite(rest) ? rest : T{0});
    }
    packed += block_bytes(compression, sizeof(T), static_cast<int64_t>(count));
  }
}

template <typename T>
bool unpack_all(const Compression& compression, std::string_view packed, std::span<char> x) {
  const size_t elements = x.size() / sizeof(T);
  const char* from = packed.data();
  for (size_t first = 0; first < elements; first += kBlock) {
    const size_t count = std::min<size_t>(kBlock, elements - first);
    if (!unpack_block<T>(compression, from, count, x.data() + first * sizeof(T))) return false;
    from += block_bytes(compression, sizeof(T), static_cast<int64_t>(count));
  }
  return true;
}

template <typename T>
std::vector<char> subtracted(std::span<const char> from, std::span<const char> other) {
  std::vector<char> difference(from.size());
  for (size_t i = 0; i < from.size() / sizeof(T); ++i) store(difference.data(), i, load<T>(from.data(), i) - load<T>(other.data(), i));
  return difference;
}

}  // namespace

absl::StatusOr<Compression> parse_compression(const std::string& text) {
  if (text == "fp16") return Compression{Method::fp16};
  if (text == "bf16") return Compression{Method::bf16};
  if (text == "2bit") return Compression{Method::two_bits};
  const std::string shown = absl::StrCat("'", io::printable(text, io::kMostShown), "'");
  absl::string_view rest = text;
  if (!absl::ConsumePrefix(&rest, "topk:"))
    return absl::InvalidArgumentError(absl::StrCat("there is no compression ", shown, ": one of fp16, bf16, 2bit, topk:PART"));
  double part = 0;
  if (!absl::SimpleAtod(rest, &part) || !(part > 0 && part <= kMostPart))
    return absl::InvalidArgumentError(absl::StrCat(shown, ": a part above 0 and at most 0.5 is expected after topk:"));
  return Compression{Method::top, part};
}

std::string to_string(const Compression& compression) {
  switch (compression.method) {
    case Method::none: return "none";
    case Method::fp16: return "fp16";
    case Method::bf16: return "bf16";
    case Method::two_bits: return "2bit";
    case Method::top: break;
  }
  // The shortest that is read as the same number.
  char text[40];
  for (int digits = 1; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "topk:%.*g", digits, compression.part);
    if (std::strtod(text + 5, nullptr) == compression.part) break;
  }
  return text;
}

int64_t packed_bytes(const Compression& compression, plan::DType dtype, int64_t elements) {
  const int64_t width = core::dtype_bytes(dtype), rest = elements % kBlock;
  return elements / kBlock * block_bytes(compression, width, kBlock) + (rest == 0 ? 0 : block_bytes(compression, width, rest));
}

void pack(const Compression& compression, plan::DType dtype, std::span<char> x, std::span<char> residual, char* packed) {
  dtype == plan::DType::f32 ? pack_all<float>(compression, x, residual, packed) : pack_all<double>(compression, x, residual, packed);
}

bool unpack(const Compression& compression, plan::DType dtype, std::string_view packed, std::span<char> x) {
  const int64_t elements = static_cast<int64_t>(x.size()) / core::dtype_bytes(dtype);
  if (static_cast<int64_t>(packed.size()) != packed_bytes(compression, dtype, elements)) return false;
  return dtype == plan::DType::f32 ? unpack_all<float>(compression, packed, x) : unpack_all<double>(compression, packed, x);
}

void approach(const Compression& compression, plan::DType dtype, std::span<const char> exact, std::span<char> value, std::string* difference) {
  std::vector<char> x = dtype == plan::DType::f32 ? subtracted<float>(exact, value) : subtracted<double>(exact, value);
  std::vector<char> left_out(x.size());
  std::string packed(static_cast<size_t>(packed_bytes(compression, dtype, static_cast<int64_t>(x.size()) / core::dtype_bytes(dtype))), '\0');
  pack(compression, dtype, x, left_out, packed.data());
  add_into(dtype, value, x);
  if (difference != nullptr) difference->append(packed);
}

std::vector<Node> contributed_parts(const Compression& compression, Node own, int64_t shards) {
  if (!compression.is_on()) return parts_of(own, shards);
  std::vector<Node> parts;
  for (int64_t shard = own.first; shard < own.end; ++shard) parts.push_back({shard, shard + 1});
  return parts;
}

}  // namespace mxc::kv
