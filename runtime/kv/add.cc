// See add.h. Elements are copied in and out, since frames of messages lie anywhere; compilers make vectors of it.
#include "runtime/kv/add.h"

#include <cstdint>
#include <cstring>

#include "runtime/ndarray/small_float.h"

namespace mxc::kv {

namespace {

template <typename T>
void add(char* into, const char* other, size_t bytes) {
  for (size_t at = 0; at + sizeof(T) <= bytes; at += sizeof(T)) {
    T a, b;
    std::memcpy(&a, into + at, sizeof a);
    std::memcpy(&b, other + at, sizeof b);
    a += b;
    std::memcpy(into + at, &a, sizeof a);
  }
}

struct Half {
  static float wide(uint16_t bits) { return ndarray::f16_value(bits); }
  static uint16_t narrow(float value) { return ndarray::f16_bits(value); }
};
struct BrainHalf {
  static float wide(uint16_t bits) { return ndarray::bf16_value(bits); }
  static uint16_t narrow(float value) { return ndarray::bf16_bits(value); }
};

template <typename Format>
void add_small(char* into, const char* other, size_t bytes) {
  for (size_t at = 0; at + sizeof(uint16_t) <= bytes; at += sizeof(uint16_t)) {
    uint16_t a, b;
    std::memcpy(&a, into + at, sizeof a);
    std::memcpy(&b, other + at, sizeof b);
    a = Format::narrow(Format::wide(a) + Format::wide(b));
    std::memcpy(into + at, &a, sizeof a);
  }
}

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

void add_into(plan::DType dtype, std::span<char> into, std::span<const char> other) {
  switch (dtype) {
    case plan::DType::f32: return add<float>(into.data(), other.data(), into.size());
    case plan::DType::f64: return add<double>(into.data(), other.data(), into.size());
    case plan::DType::f16: return add_small<Half>(into.data(), other.data(), into.size());
    case plan::DType::bf16: return add_small<BrainHalf>(into.data(), other.data(), into.size());
    case plan::DType::i32: return add<uint32_t>(into.data(), other.data(), into.size());  // unsigned: wraps around
    default: return add<uint64_t>(into.data(), other.data(), into.size());
  }
}

}  // namespace mxc::kv
