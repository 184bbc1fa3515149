// Eight bytes a step through eight tables ("slicing by 8"), which a compiler can make before the program runs.
#include "runtime/kv/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

namespace mxc::kv {

namespace {

static_assert(std::endian::native == std::endian::little, "the tables are used on words as they lie in memory");

using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  Tables tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t sum = i;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? 0x82f63b78u : 0u);
    tables[0][i] = sum;
  }
  for (size_t k = 1; k < 8; ++k)
    for (size_t i = 0; i < 256; ++i) tables[k][i] = (tables[k - 1][i] >> 8) ^ tables[0][tables[k - 1][i] & 0xff];
  return tables;
}

constexpr Tables kTables = make_tables();

}  // namespace

uint32_t crc32c(const void* data, size_t size, uint32_t before) {
  const auto* at = static_cast<const unsigned char*>(data);
  uint32_t sum = ~before;
  for (; size >= 8; size -= 8, at += 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    word ^= sum;
    sum = 0;
    for (size_t k = 0; k < 8; ++k) sum ^= kTables[7 - k][(word >> (8 * k)) & 0xff];
  }
  for (; size > 0; --size, ++at) sum = (sum >> 8) ^ kTables[0][(sum ^ *at) & 0xff];
  return ~sum;
}

}  // namespace mxc::kv
