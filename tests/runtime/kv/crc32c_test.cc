// Against the sums that RFC 3720 (B.4) and the catalogue of CRCs state.
#include "runtime/kv/crc32c.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

namespace mxc::kv {
namespace {

TEST(Crc32c, HasTheSumsOfRfc3720) {
  EXPECT_EQ(crc32c(std::string(32, '\0').data(), 32), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff').data(), 32), 0x62a8ab43u);
  std::string rising(32, '\0');
  std::iota(rising.begin(), rising.end(), '\0');
  EXPECT_EQ(crc32c(rising.data(), 32), 0x46dd794eu);
  const std::string falling(rising.rbegin(), rising.rend());
  EXPECT_EQ(crc32c(falling.data(), 32), 0x113fdb5cu);
}

TEST(Crc32c, OfDigits) { EXPECT_EQ(crc32c("123456789", 9), 0xe3069283u); }

TEST(Crc32c, OfNothing) { EXPECT_EQ(crc32c(nullptr, 0), 0u); }

uint32_t bit_by_bit(const std::string& bytes) {
  uint32_t sum = ~0u;
  for (unsigned char byte : bytes) {
    sum ^= byte;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? 0x82f63b78u : 0u);
  }
  return ~sum;
}

TEST(Crc32c, OfAnyLengthWithAnyInstructions) {
  std::string bytes;
  for (size_t i = 0; i < 40'000; ++i) bytes.push_back(static_cast<char>(i * i / 7));
  for (size_t size : {1, 7, 8, 9, 255, 256, 257, 511, 512, 519, 4096, 12'287, 12'288, 12'289, 12'303, 24'576, 39'999}) {
    for (size_t from : {0, 1}) {
      const std::string part = bytes.substr(from, size);
      EXPECT_EQ(crc32c(bytes.data() + from, part.size()), bit_by_bit(part)) << size;
      EXPECT_EQ(crc32c_by_tables(bytes.data() + from, part.size()), bit_by_bit(part)) << size;
    }
  }
}

TEST(Crc32c, GoesOnFromWhatCameBefore) {
  const std::string text = "the quick brown fox jumps over the lazy dog";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    const uint32_t before = crc32c(text.data(), cut);
    EXPECT_EQ(crc32c(text.data() + cut, text.size() - cut, before), crc32c(text.data(), text.size())) << cut;
  }
}

}  // namespace
}  // namespace mxc::kv
