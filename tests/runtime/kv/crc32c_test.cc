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

TEST(Crc32c, GoesOnFromWhatCameBefore) {
  const std::string text = "the quick brown fox jumps over the lazy dog";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    const uint32_t before = crc32c(text.data(), cut);
    EXPECT_EQ(crc32c(text.data() + cut, text.size() - cut, before), crc32c(text.data(), text.size())) << cut;
  }
}

}  // namespace
}  // namespace mxc::kv
