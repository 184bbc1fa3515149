// What a process that updates parameters itself has after it died.
#include "runtime/train/worker_state.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace mxc::train {
namespace {

class WorkerStateTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/worker_state_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ + "/next");
    identity_.job = 5;
    identity_.rank = 1;
    identity_.state_dir = folder_;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Another process.
  absl::Status start() {
    state_.reset();
    weight_ = "****";
    slot_ = "**";
    auto opened = WorkerState::open(identity_, 7, {weight_, slot_});
    if (!opened.ok()) return opened.status();
    state_ = *std::move(opened);
    return absl::OkStatus();
  }
  void keep(const std::string& weight, const std::string& slot, uint64_t updates) {
    weight_ = weight;
    slot_ = slot;
    state_->keep(updates);
  }
  // "FOUND weight slot".
  std::string restored(uint64_t updates) {
    const auto found = state_->restore(updates);
    return found.ok() ? std::to_string(*found) + " " + weight_ + " " + slot_ : std::string(found.status().message());
  }
  static std::string missing(int updates) {
    return "a process's state has neither parameters and optimizer state after " + std::to_string(updates) + " updates, nor after one less";
  }

  std::string folder_, weight_, slot_;
  kv::Identity identity_;
  std::unique_ptr<WorkerState> state_;
};

TEST_F(WorkerStateTest, TheLastUpdateOrTheOneBefore) {
  ASSERT_TRUE(start().ok());
  EXPECT_EQ(restored(0), missing(0));
  keep("w000", "s0", 0);
  keep("w111", "s1", 1);
  ASSERT_TRUE(start().ok());
  EXPECT_EQ(restored(1), "1 w111 s1");
  EXPECT_EQ(restored(2), "1 w111 s1");
  EXPECT_EQ(restored(3), missing(3));
}

// Killed when it had kept the weight of the third update, and not yet the slot.
TEST_F(WorkerStateTest, AnUpdateThatIsHalfKept) {
  ASSERT_TRUE(start().ok());
  keep("w222", "s2", 2);
  state_.reset();
  auto weight_alone = kv::StateFile::open(folder_ + "/worker-1.state", {5, 7, 1}, {4, 2});
  ASSERT_TRUE(weight_alone.ok()) << weight_alone.status();
  const std::string_view third = "w333";
  (*weight_alone)->write(0, 3, {{third}});
  weight_alone->reset();
  ASSERT_TRUE(start().ok());
  EXPECT_EQ(restored(3), "2 w222 s2");
}

TEST_F(WorkerStateTest, ThoseWhoGoOnBeginWithRankZeros) {
  identity_.rank = 0;
  ASSERT_TRUE(start().ok());
  keep("w111", "s1", 1);
  keep("w222", "s2", 2);
  state_.reset();
  identity_.before = {folder_, 3};
  identity_.state_dir = folder_ + "/next";
  for (uint32_t rank : {0u, 1u}) {
    identity_.rank = rank;
    ASSERT_TRUE(start().ok());
    EXPECT_EQ(restored(2), "2 w222 s2");
  }
  std::filesystem::remove(folder_ + "/worker-0.state");
  identity_.rank = 2;
  EXPECT_EQ(start().message(), folder_ + "/worker-0.state: cannot open: No such file or directory");
}

TEST_F(WorkerStateTest, IsRemovedWhenTheJobIsOver) {
  ASSERT_TRUE(start().ok());
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/worker-1.state"));
  state_->remove();
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/worker-1.state"));
}

}  // namespace
}  // namespace mxc::train
