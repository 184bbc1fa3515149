// See add.h. Elements are copied in and out, since frames of messages lie anywhere; compilers make vectors of it.
#include "runtime/kv/add.h"

#include <cstdint>
#include <cstring>

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

}  // namespace

void add_into(plan::DType dtype, std::span<char> into, std::span<const char> other) {
  switch (dtype) {
    case plan::DType::f32: return add<float>(into.data(), other.data(), into.size());
    case plan::DType::f64: return add<double>(into.data(), other.data(), into.size());
    case plan::DType::i32: return add<uint32_t>(into.data(), other.data(), into.size());  // unsigned: wraps around
    default: return add<uint64_t>(into.data(), other.data(), into.size());
  }
}

}  // namespace mxc::kv
