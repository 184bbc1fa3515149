#include "runtime/io/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "tests/runtime/temp_dir.h"

namespace mxc::io {
namespace {

using mxc::test::contents_of;
using mxc::test::TempDir;

int files_in(const TempDir& dir) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path())) count += entry.exists() ? 1 : 0;
  return count;
}

TEST(AtomicFile, WritesPiecesAndReplaces) {
  TempDir dir;
  const std::string path = dir.write("a", "old");
  ASSERT_TRUE(write_file_atomically(path, {{"hello ", 6}, {"", 0}, {"world", 5}}).ok());
  EXPECT_EQ(contents_of(path), "hello world");
  EXPECT_EQ(files_in(dir), 1);
}

// A limit on the size of files fails a write in the middle, as a full disk does.
TEST(AtomicFile, OldFileSurvivesAFailedWrite) {
  TempDir dir;
  const std::string path = dir.write("a", "old"), large(100000, 'x');
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const auto old_handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {5000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const absl::Status status = write_file_atomically(path, {{large.data(), large.size()}});
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, old_handler);
  EXPECT_EQ(status.message(), path + ": cannot write: File too large; nothing was changed");
  EXPECT_EQ(contents_of(path), "old");
  EXPECT_EQ(files_in(dir), 1);
}

TEST(AtomicFile, NoSuchDirectory) {
  TempDir dir;
  EXPECT_EQ(write_file_atomically(dir.file("no/a"), {}).message(), dir.file("no/a") + ": cannot write: No such file or directory");
  EXPECT_EQ(check_writable(dir.file("no/a")).message(), dir.file("no/a") + ": cannot write: No such file or directory");
  EXPECT_TRUE(check_writable(dir.file("a")).ok());
  // A directory in the way is found when the name is taken.
  std::filesystem::create_directory(dir.file("d"));
  EXPECT_EQ(write_file_atomically(dir.file("d"), {}).message(),
            dir.file("d") + ": cannot write: Is a directory; nothing was changed");
  EXPECT_EQ(files_in(dir), 1);
}

}  // namespace
}  // namespace mxc::io
