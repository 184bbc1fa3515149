// See add.h. Elements are copied in and out, since frames of messages lie anywhere; compilers make vectors of it.
#include "runtime/kv/add.h"

#include <cstdint>
#include <cstring>
#include <functional>

#include "runtime/ndarray/small_float.h"

namespace mxc::kv {

namespace {

template <typename Bits, typename Sum>
void add(const char* left, const char* right, char* into, size_t bytes, Sum sum) {
  for (size_t at = 0; at + sizeof(Bits) <= bytes; at += sizeof(Bits)) {
    Bits a, b;
    std::memcpy(&a, left + at, sizeof a);
    std::memcpy(&b, right + at, sizeof b);
    a = sum(a, b);
    std::memcpy(into + at, &a, sizeof a);
  }
}

uint16_t f16_sum(uint16_t a, uint16_t b) { return ndarray::f16_bits(ndarray::f16_value(a) + ndarray::f16_value(b)); }
uint16_t bf16_sum(uint16_t a, uint16_t b) { return ndarray::bf16_bits(ndarray::bf16_value(a) + ndarray::bf16_value(b)); }

}  // namespace

bool is_added(plan::DType dtype) {
  switch (dtype) {
    case plan::DType::f32:
    case plan::DType::f64:
    case plan::DType::f16:
    case plan::DType::bf16:
    case plan::DType::i32:
    case plan::DType::i64: return true;
    default: return false;
  }
}

void add_into(plan::DType dtype, std::span<char> into, std::span<const char> other) { add_to(dtype, into, other, into); }

void add_to(plan::DType dtype, std::span<const char> left, std::span<const char> right, std::span<char> sum) {
  const auto each = [&]<typename Bits>(Bits, auto function) { add<Bits>(left.data(), right.data(), sum.data(), sum.size(), function); };
  switch (dtype) {
    case plan::DType::f32: return each(float(), std::plus());
    case plan::DType::f64: return each(double(), std::plus());
    case plan::DType::f16: return each(uint16_t(), [](uint16_t a, uint16_t b) { return f16_sum(a, b); });
    case plan::DType::bf16: return each(uint16_t(), [](uint16_t a, uint16_t b) { return bf16_sum(a, b); });
    case plan::DType::i32: return each(uint32_t(), std::plus());  // unsigned: wraps around
    default: return each(uint64_t(), std::plus());
  }
}

}  // namespace mxc::kv
