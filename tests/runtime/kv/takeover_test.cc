// Fewer servers go on from what more have kept.
#include "runtime/kv/takeover.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>

namespace mxc::kv {
namespace {

// Three of five processes serve, then two of four: a key that is cut, with one beside it; two that travel together; one that says something of processes.
class TakeoverTest : public testing::Test {
 protected:
  static constexpr uint64_t kJob = 5;
  static constexpr int64_t kElements = 100'000;

  void SetUp() override {
    folder_ = testing::TempDir() + "/takeover_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    for (const char* part : {"/1", "/2"}) std::filesystem::create_directories(folder_ + part);
    for (uint32_t server = 0; server < 3; ++server) states_.push_back(*ServerState::open(state_path(folder_ + "/1", before_.rank_of_server(server)), kJob, before_, server));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static CommunicationPlan plan_of(int64_t servers, int64_t workers) {
    Key facts{"facts", {3}, plan::DType::i64};
    facts.alone = facts.begins_anew = true;
    return *make_plan({{"cut", {kElements}, plan::DType::f32}, {"slot", {kElements}, plan::DType::f32, 0}, {"a", {3}, plan::DType::f32}, {"b", {5}, plan::DType::f32}, facts},
                      {.servers = servers, .workers = workers, .shards = 5, .cut_above = 100 << 10, .bundle_below = 1 << 10});
  }

  // Element i of a key after so many steps, by paper.
  static float element(uint32_t key, int64_t i, uint64_t step) { return static_cast<float>(key * 1'000'000 + step * 200'000) + static_cast<float>(i); }

  std::string bytes_of(const CommunicationPlan& plan, uint32_t chunk, uint64_t step) const {
    std::string bytes(plan.chunks[chunk].bytes, '\0');
    if (plan.chunks[chunk].dtype != plan::DType::f32) return bytes;
    for (const Piece& piece : plan.chunks[chunk].pieces) {
      for (int64_t i = 0; i < piece.count; ++i) {
        const float value = element(piece.key, piece.first + i, step);
        std::memcpy(bytes.data() + piece.at + i * 4, &value, sizeof value);
      }
    }
    return bytes;
  }

  // A server keeps the chunk as it is after the step.
  void keep(uint32_t chunk, uint64_t step, bool initialised = true) {
    std::vector<std::string> values;
    values.reserve(10);
    states_[before_.chunks[chunk].server]->keep(
        chunk, [&](uint32_t member) { return ServerState::Kept{initialised, step, values.emplace_back(bytes_of(before_, member, step))}; });
  }
  bool is_main(uint32_t chunk) const { return before_.keys[before_.chunks[chunk].pieces[0].key].beside == plan::kNone; }
  void keep_all(uint64_t step) {
    for (uint32_t chunk = 0; chunk < before_.chunks.size(); ++chunk)
      if (is_main(chunk)) keep(chunk, step);
  }

  absl::StatusOr<std::optional<Takeover>> read() {
    states_.clear();
    return Takeover::read({folder_ + "/1", 5, 3}, kJob, now_);
  }

  const CommunicationPlan before_ = plan_of(3, 5), now_ = plan_of(2, 4);
  std::string folder_;
  std::vector<std::unique_ptr<ServerState>> states_;
};

TEST_F(TakeoverTest, TheLastStepThatAllHave) {
  keep_all(6);
  keep_all(7);
  keep(0, 8);  // one is ahead
  auto takeover = read();
  ASSERT_TRUE(takeover.ok()) << takeover.status();
  ASSERT_TRUE(takeover->has_value());
  EXPECT_EQ((*takeover)->step(), 7u);
  // Both of the new servers, each with the files of all the old ones.
  for (uint32_t server : {0u, 1u}) {
    auto again = Takeover::read({folder_ + "/1", 5, 3}, kJob, now_);
    auto state = ServerState::open(state_path(folder_ + "/2", server), kJob, now_, server, &**again);
    ASSERT_TRUE(state.ok()) << state.status();
    int own = 0;
    for (uint32_t chunk = 0; chunk < now_.chunks.size(); ++chunk) {
      if (now_.chunks[chunk].server != server) continue;
      ++own;
      const auto kept = (*state)->newest(chunk);
      if (now_.keys[now_.chunks[chunk].pieces[0].key].begins_anew) {
        EXPECT_FALSE(kept.has_value());
        continue;
      }
      ASSERT_TRUE(kept.has_value()) << chunk;
      EXPECT_TRUE(kept->initialised);
      EXPECT_EQ(kept->version, 7u);
      EXPECT_TRUE(kept->value == bytes_of(now_, chunk, 7)) << chunk;
    }
    EXPECT_GT(own, 0);
  }
}

TEST_F(TakeoverTest, OfAJobThatHasOnlyBegunThereIsNothing) {
  keep_all(0);
  keep(1, 0, /*initialised=*/false);
  auto takeover = read();
  ASSERT_TRUE(takeover.ok()) << takeover.status();
  EXPECT_FALSE(takeover->has_value());
}

TEST_F(TakeoverTest, OfAJobThatHasMadeNoStepThereAreTheFirstValues) {
  keep_all(0);
  auto takeover = read();
  ASSERT_TRUE(takeover.ok() && takeover->has_value());
  EXPECT_EQ((*takeover)->step(), 0u);
  for (uint32_t chunk = 0; chunk < now_.chunks.size(); ++chunk)
    if ((*takeover)->has(chunk)) EXPECT_TRUE((*takeover)->value(chunk) == bytes_of(now_, chunk, 0)) << chunk;
}

TEST_F(TakeoverTest, Refusals) {
  keep_all(6);
  keep(0, 9);
  keep(0, 10);
  auto takeover = read();
  EXPECT_EQ(takeover.status().message(), "the state of rank " + std::to_string(before_.rank_of_server(before_.chunks[0].server)) + " has no value of step 6, the last that all have");
  EXPECT_NE(Takeover::read({folder_ + "/1", 5, 3}, kJob + 1, now_).status().message().find("it is the state of another job"), std::string::npos);
  EXPECT_NE(Takeover::read({folder_ + "/1", 5, 4}, kJob, now_).status().message().find("it is of another plan"), std::string::npos);
  const auto held = ServerState::open(state_path(folder_ + "/1", 1), kJob, before_, 1);
  EXPECT_EQ(Takeover::read({folder_ + "/1", 5, 3}, kJob, now_).status().message(), folder_ + "/1/server-1.state: another process has it");
  std::remove(state_path(folder_ + "/1", 0).c_str());
  EXPECT_EQ(Takeover::read({folder_ + "/1", 5, 3}, kJob, now_).status().message(), folder_ + "/1/server-0.state: cannot open: No such file or directory");
}

}  // namespace
}  // namespace mxc::kv
