// A meeting is found while it is held, by its user alone.
#include "runtime/kv/meeting.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <optional>

#include "tests/runtime/temp_dir.h"

namespace mxc::kv {
namespace {

const JobKeys kKeys = {std::string(40, 'p'), std::string(40, 's')};
constexpr char kAddress[] = "tcp://127.0.0.1:5000";

TEST(Meeting, IsFoundFromItsAnnouncementToItsEnd) {
  const test::TempDir below;
  const auto folder = private_folder(below.path());
  ASSERT_TRUE(folder.ok()) << folder.status();
  const std::string place = *folder + "/job";
  {
    auto draft = Draft::make(*folder, "job", kKeys);
    ASSERT_TRUE(draft.ok()) << draft.status();
    EXPECT_EQ(draft->place(), place);
    EXPECT_EQ(*find_meeting(place), std::nullopt);
    ASSERT_TRUE(draft->announce(kAddress).ok());
    EXPECT_EQ(*find_meeting(place), kAddress);
    EXPECT_EQ(*find_meeting(place), kAddress);  // looking leaves it as it is
    EXPECT_EQ(*wait_for_meeting(place, std::chrono::seconds(60)), kAddress);
    const auto keys = read_keys(place);
    ASSERT_TRUE(keys.ok()) << keys.status();
    EXPECT_EQ(keys->public_key, kKeys.public_key);
    EXPECT_EQ(keys->secret_key, kKeys.secret_key);
  }
  EXPECT_TRUE(std::filesystem::exists(place));  // as a scheduler that was killed leaves it
  EXPECT_EQ(*find_meeting(place), std::nullopt);
  auto again = Draft::make(*folder, "job", kKeys);
  ASSERT_TRUE(again.ok() && again->announce("tcp://127.0.0.1:6000").ok());
  EXPECT_EQ(*find_meeting(place), "tcp://127.0.0.1:6000");
}

// The scheduler inherits the descriptor of the worker that starts it.
TEST(Meeting, IsHeldByWhoeverHasTheDescriptor) {
  const test::TempDir folder;
  int inherited;
  {
    auto draft = Draft::make(folder.path(), "job", kKeys);
    ASSERT_TRUE(draft.ok() && draft->announce(kAddress).ok());
    inherited = ::dup(draft->descriptor());
  }
  EXPECT_EQ(*find_meeting(folder.file("job")), kAddress);
  ::close(inherited);
  EXPECT_EQ(*find_meeting(folder.file("job")), std::nullopt);
}

TEST(Meeting, ADraftThatIsNotAnnouncedLeavesNothing) {
  const test::TempDir folder;
  { ASSERT_TRUE(Draft::make(folder.path(), "job", kKeys).ok()); }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Meeting, WhoWaitsInVainIsTold) {
  const test::TempDir folder;
  const auto address = wait_for_meeting(folder.file("job"), std::chrono::seconds(0));
  EXPECT_EQ(address.status().message(), "rank 0 has not come within 0 s: there is no " + folder.file("job"));
}

TEST(Meeting, TheFolderIsItsUsersAlone) {
  const test::TempDir below;
  const std::string folder = below.path() + "/mxc-" + std::to_string(::geteuid());
  EXPECT_EQ(*private_folder(below.path()), folder);
  struct stat facts {};
  ASSERT_EQ(::stat(folder.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0700u);
  EXPECT_EQ(*private_folder(below.path()), folder);
  const std::string why = folder + " is no folder that this user alone may open: the job's keys would not be safe there";
  ASSERT_EQ(::chmod(folder.c_str(), 0750), 0);
  EXPECT_EQ(private_folder(below.path()).status().message(), why);
  ASSERT_EQ(::rmdir(folder.c_str()), 0);
  ASSERT_EQ(::symlink(below.path().c_str(), folder.c_str()), 0);
  EXPECT_EQ(private_folder(below.path()).status().message(), why);
  EXPECT_EQ(private_folder("/nowhere").status().message(),
            "cannot make the folder /nowhere/mxc-" + std::to_string(::geteuid()) + ": No such file or directory");
}

}  // namespace
}  // namespace mxc::kv
