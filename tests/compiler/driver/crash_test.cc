// A crash of mxc itself: one line, exit code 70, a file to reproduce it.
#include "driver/crash.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "driver/files.h"

namespace mxc::driver {
namespace {

TEST(Crash, IsToldWithAReproducer) {
  std::string path = testing::TempDir() + "/crash.reproducer.json", text = "{\"format\": \"mxc-symbol\"}\n";
  auto crash = [&] {
    installCrashHandler();
    Reproducer reproducer(path, text);
    raise(SIGSEGV);
  };
  EXPECT_EXIT(crash(), testing::ExitedWithCode(kInternal),
              "mxc: internal error: SEGV; to reproduce it: mxc compile .*crash.reproducer.json");
  auto written = readWholeFile(path);
  ASSERT_TRUE(static_cast<bool>(written));
  EXPECT_EQ(*written, text);
}

TEST(Crash, WithoutAModelHasNoReproducer) {
  auto crash = [] {
    installCrashHandler();
    raise(SIGABRT);
  };
  EXPECT_EXIT(crash(), testing::ExitedWithCode(kInternal), "mxc: internal error: ABRT\n");
}

}  // namespace
}  // namespace mxc::driver
