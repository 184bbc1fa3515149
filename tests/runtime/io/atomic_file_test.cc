#include "runtime/io/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstring>
#include <thread>

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

TEST(AtomicFile, PermissionsStay) {
  TempDir dir;
  const std::string path = dir.write("a", "old");
  const mode_t mask = umask(022);
  const auto mode_of = [](const std::string& file) {
    struct stat info = {};
    EXPECT_EQ(stat(file.c_str(), &info), 0);
    return info.st_mode & 07777;
  };
  for (const mode_t mode : {0640, 0600, 0666}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    ASSERT_TRUE(write_file_atomically(path, {{"new", 3}}).ok());
    EXPECT_EQ(mode_of(path), mode);
  }
  ASSERT_TRUE(write_file_atomically(dir.file("fresh"), {{"new", 3}}).ok());
  EXPECT_EQ(mode_of(dir.file("fresh")), 0644u);
  umask(mask);
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
  EXPECT_EQ(check_writable(dir.write("f", "") + "/a").message(), dir.file("f/a") + ": cannot write: Not a directory");
}

TEST(AtomicFile, ADirectoryIsNoFile) {
  TempDir dir;
  std::filesystem::create_directory(dir.file("d"));
  for (const std::string& path : {dir.file("d"), dir.file("d/")}) {
    EXPECT_EQ(check_writable(path).message(), path + ": cannot write: Is a directory");
    EXPECT_EQ(write_file_atomically(path, {}).message(), path + ": cannot write: Is a directory");
  }
  EXPECT_EQ(check_writable(dir.file("new/")).message(), dir.file("new/") + ": cannot write: No such file or directory");
  EXPECT_EQ(files_in(dir), 1);
}

TEST(AtomicFile, LinksAreFollowed) {
  TempDir dir;
  std::filesystem::create_directory(dir.file("d"));
  std::filesystem::create_symlink("d/target", dir.file("relative"));
  std::filesystem::create_symlink(dir.file("relative"), dir.file("link"));  // to a link to nothing yet
  for (const char* text : {"first", "second"}) {
    ASSERT_TRUE(check_writable(dir.file("link")).ok());
    ASSERT_TRUE(write_file_atomically(dir.file("link"), {{text, std::strlen(text)}}).ok());
    EXPECT_TRUE(std::filesystem::is_symlink(dir.file("link")) && std::filesystem::is_symlink(dir.file("relative")));
    EXPECT_FALSE(std::filesystem::is_symlink(dir.file("d/target")));
    EXPECT_EQ(contents_of(dir.file("d/target")), text);
  }
  std::filesystem::create_symlink("round", dir.file("round"));
  EXPECT_EQ(check_writable(dir.file("round")).message(),
            dir.file("round") + ": cannot write: Too many levels of symbolic links");
  std::filesystem::create_symlink("no/where", dir.file("lost"));
  EXPECT_EQ(check_writable(dir.file("lost")).message(), dir.file("lost") + ": cannot write: No such file or directory");
}

TEST(AtomicFile, SpecialFilesAreWrittenAsTheyAre) {
  TempDir dir;
  const std::string fifo = dir.file("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  ASSERT_TRUE(check_writable(fifo).ok());
  std::string read;
  std::thread reader([&] { read = contents_of(fifo); });
  const absl::Status status = write_file_atomically(fifo, {{"by", 2}, {"tes", 3}});
  reader.join();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(read, "bytes");
  EXPECT_TRUE(std::filesystem::is_fifo(fifo));
  // A link to a device, lest a fault replaces the device itself.
  std::filesystem::create_symlink("/dev/full", dir.file("full"));
  EXPECT_TRUE(check_writable(dir.file("full")).ok());
  EXPECT_EQ(write_file_atomically(dir.file("full"), {{"x", 1}}).message(),
            dir.file("full") + ": cannot write: No space left on device");
  EXPECT_TRUE(std::filesystem::is_symlink(dir.file("full")));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
  EXPECT_EQ(files_in(dir), 2);
}

}  // namespace
}  // namespace mxc::io
