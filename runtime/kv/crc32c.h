// CRC32C (Castagnoli, RFC 3720): what guards headers and payloads of messages.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mxc::kv {

// Of `size` bytes; `before` is the sum of what came before them.
uint32_t crc32c(const void* data, size_t size, uint32_t before = 0);
// The same, with no instruction that a processor may lack.
uint32_t crc32c_by_tables(const void* data, size_t size, uint32_t before = 0);

}  // namespace mxc::kv
