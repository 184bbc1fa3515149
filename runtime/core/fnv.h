// FNV-1a, 64 bits: a number for bytes that processes compare, and that no enemy chooses.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mxc::core {

inline constexpr uint64_t kFnv = 0xcbf29ce484222325u;  // of nothing

// Over what `hash` is of, and `size` bytes behind it.
inline uint64_t fnv(uint64_t hash, const void* bytes, size_t size) {
  for (size_t i = 0; i < size; ++i) hash = (hash ^ static_cast<const unsigned char*>(bytes)[i]) * 0x100000001b3u;
  return hash;
}

}  // namespace mxc::core
