// Files that appear together, or not at all.
#include "driver/output_set.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <thread>

#include "tests/runtime/temp_dir.h"

namespace mxc::driver {
namespace {

namespace fs = std::filesystem;
using test::contents_of;

class OutputSetTest : public testing::Test {
 protected:
  std::set<std::string> names() const {
    std::set<std::string> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_.path())) found.insert(entry.path().filename().string());
    return found;
  }
  std::string place(const std::string& name) const { return folder_.file(name); }

  test::TempDir folder_;
  OutputSet outputs_;
  DiagnosticPrinter printer_{Color::never};
};

// The last file's content comes through a pipe. When it is read, mxc has seen that its place is free; then a folder takes the place, so that all files
// have been written and the last renaming fails.
class ThatFailsAtTheEnd : public OutputSetTest {
 protected:
  std::string commit() {
    const std::string pipe = place("pipe");
    EXPECT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    Content last;
    last.addFile(pipe);
    outputs_.add(place("last"), std::move(last));
    std::thread writer([&] {
      int end = open(pipe.c_str(), O_WRONLY);
      fs::create_directory(place("last"));
      EXPECT_EQ(write(end, "new", 3), 3);
      close(end);
    });
    testing::internal::CaptureStderr();
    EXPECT_FALSE(outputs_.commit(printer_));
    std::string told = testing::internal::GetCapturedStderr();
    int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);  // were it not read, the writer would wait for ever
    writer.join();
    close(reader);
    return told;
  }
};

TEST_F(ThatFailsAtTheEnd, WhatWasThereIsThereAgain) {
  folder_.write("first", "old");
  chmod(place("first").c_str(), 0640);
  folder_.write("aim", "elsewhere");
  fs::create_symlink("aim", place("link"));
  const auto inode = [&](const std::string& name) {
    struct stat status {};
    lstat(place(name).c_str(), &status);
    return status.st_ino;
  };
  const auto before = inode("first");
  outputs_.add(place("first"), Content("new"), /*executable=*/true);
  outputs_.add(place("second"), Content("new"));
  outputs_.add(place("link"), Content("new"));
  EXPECT_EQ(commit(), "mxc: error: cannot write '" + place("last") + "': Is a directory\n");
  EXPECT_EQ(contents_of(place("first")), "old");
  EXPECT_EQ(inode("first"), before);
  EXPECT_EQ(fs::status(place("first")).permissions(), fs::perms(0640));
  EXPECT_EQ(contents_of(place("aim")), "elsewhere");
  EXPECT_EQ(fs::read_symlink(place("link")), "aim");
  EXPECT_EQ(names(), (std::set<std::string>{"aim", "first", "last", "link", "pipe"}));
}

TEST_F(OutputSetTest, NothingIsLeftBesideNewFiles) {
  folder_.write("first", "old");
  folder_.write("third", "old");
  for (const char* name : {"first", "second", "third"}) outputs_.add(place(name), Content(std::string("new ") + name));
  EXPECT_TRUE(outputs_.commit(printer_));
  for (const char* name : {"first", "second", "third"}) EXPECT_EQ(contents_of(place(name)), std::string("new ") + name);
  EXPECT_EQ(names(), (std::set<std::string>{"first", "second", "third"}));
}

}  // namespace
}  // namespace mxc::driver
