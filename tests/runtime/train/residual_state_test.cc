// What compression has left out, after a process has died.
#include "runtime/train/residual_state.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace mxc::train {
namespace {

class ResidualStateTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/residual_state_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Another process, of two shards, with two parameters.
  absl::Status start() {
    state_.reset();
    first_[0] = first_[1] = "---";
    second_[0] = second_[1] = "-";
    kv::Identity identity;
    identity.job = 5;
    identity.rank = 1;
    identity.state_dir = folder_;
    auto opened = ResidualState::open(identity, 7, {{first_[0], first_[1]}, {second_[0], second_[1]}});
    if (!opened.ok()) return opened.status();
    state_ = *std::move(opened);
    return absl::OkStatus();
  }
  void keep_first(uint64_t steps, const std::string& a, const std::string& b) {
    first_[0] = a;
    first_[1] = b;
    state_->keep(0, steps);
  }
  void keep_second(uint64_t steps, const std::string& a, const std::string& b) {
    second_[0] = a;
    second_[1] = b;
    state_->keep(1, steps);
  }
  std::string restored(uint64_t steps) {
    const absl::Status status = state_->restore(steps);
    return status.ok() ? first_[0] + " " + first_[1] + " " + second_[0] + " " + second_[1] : std::string(status.message());
  }

  std::string folder_, first_[2], second_[2];
  std::unique_ptr<ResidualState> state_;
};

TEST_F(ResidualStateTest, BeginsWithWhatTheMemoryHas) {
  ASSERT_TRUE(start().ok());
  keep_first(1, "a1 ", "b1 ");
  ASSERT_TRUE(start().ok());
  EXPECT_EQ(restored(0), "--- --- - -");
}

// Killed between the two parameters of step 2.
TEST_F(ResidualStateTest, TheStepBeforeIsThereWhilePartOfTheNextIs) {
  ASSERT_TRUE(start().ok());
  keep_first(1, "a1 ", "b1 ");
  keep_second(1, "c", "d");
  keep_first(2, "a2 ", "b2 ");
  ASSERT_TRUE(start().ok());
  EXPECT_EQ(restored(1), "a1  b1  c d");
  EXPECT_EQ(restored(2), "a process's state lacks what compression had left out after step 2");
}

// It comes back, computes step 2 again, and is killed again.
TEST_F(ResidualStateTest, AStepThatIsKeptAgainLeavesTheOneBefore) {
  ASSERT_TRUE(start().ok());
  keep_first(1, "a1 ", "b1 ");
  keep_second(1, "c", "d");
  keep_first(2, "a2 ", "b2 ");
  ASSERT_TRUE(start().ok());
  EXPECT_EQ(restored(1), "a1  b1  c d");
  keep_first(2, "a2 ", "b2 ");
  ASSERT_TRUE(start().ok());
  EXPECT_EQ(restored(1), "a1  b1  c d");
}

TEST_F(ResidualStateTest, NothingIsLeftWhenTheJobIsOver) {
  ASSERT_TRUE(start().ok());
  ASSERT_TRUE(std::filesystem::exists(folder_ + "/residuals-1.state"));
  state_->remove();
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(ResidualStateTest, AnotherProgramsIsRefused) {
  ASSERT_TRUE(start().ok());
  state_.reset();
  kv::Identity identity;
  identity.job = 5;
  identity.rank = 1;
  identity.state_dir = folder_;
  EXPECT_FALSE(ResidualState::open(identity, 8, {{first_[0], first_[1]}, {second_[0], second_[1]}}).ok());
}

}  // namespace
}  // namespace mxc::train
