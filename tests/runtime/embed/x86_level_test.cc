// The processor's level against what the host compiler's run-time library says.
#include <gtest/gtest.h>

#include "runtime/embed/choose.h"

TEST(X86Level, IsTheCompilersOwn) {
  __builtin_cpu_init();
  int expected = __builtin_cpu_supports("x86-64-v4") ? 4 : __builtin_cpu_supports("x86-64-v3") ? 3 : 1;
  EXPECT_EQ(mxc::embed::x86_level(), expected);
}
