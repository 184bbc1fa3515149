// What a server has after it died.
#include "runtime/kv/server_state.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>

#include "runtime/kv/server.h"

namespace mxc::kv {
namespace {

// Chunk 0: two f32, and chunk 1 beside it; of two workers with a shard each. An update adds the sum to both.
class ServerStateTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "/server_state_" + testing::UnitTest::GetInstance()->current_test_info()->name() + ".state";
    std::remove(path_.c_str());
    start();
  }
  void TearDown() override { std::remove(path_.c_str()); }

  // Another process with the same file.
  void start(const Consistency& consistency = {}) {
    server_.reset();
    state_.reset();
    auto state = ServerState::open(path_, 5, plan_, 0);
    ASSERT_TRUE(state.ok()) << state.status();
    state_ = *std::move(state);
    server_ = std::make_unique<Server>(plan_, 0, consistency, [](const Step& step) {
      for (std::span<char> value : {step.value, step.beside[0]}) {
        float numbers[2], sum[2];
        std::memcpy(numbers, value.data(), sizeof numbers);
        std::memcpy(sum, step.sum.data(), sizeof sum);
        for (int i : {0, 1}) numbers[i] += sum[i];
        std::memcpy(value.data(), numbers, sizeof numbers);
      }
      return absl::OkStatus();
    }, state_.get());
  }

  static std::string bytes(float a, float b) {
    const float values[] = {a, b};
    return std::string(reinterpret_cast<const char*>(values), sizeof values);
  }
  // What is answered, as "worker type step", in order.
  std::vector<std::string> say(uint32_t worker, Type type, uint64_t step, const std::string& payload = "", uint64_t sequence = 0, uint32_t chunk = 0) {
    Message message;
    message.header = {type, 0, 0, worker, 0, chunk, 0, step, sequence, 1};
    message.payload = payload;
    std::vector<Reply> replies;
    const absl::Status status = server_->receive(worker, message, replies);
    EXPECT_TRUE(status.ok()) << status;
    std::vector<std::string> said;
    for (const Reply& reply : replies) {
      said.push_back(std::to_string(reply.worker) + " " + name_of(reply.header.type) + " " + std::to_string(reply.header.step));
      if (reply.header.type == Type::value) value_ = reply.payload;
    }
    return said;
  }
  void initialise() {
    say(0, Type::init, 0, bytes(1, 2), 0, 0);
    say(0, Type::init, 0, bytes(3, 4), 0, 1);
  }
  void commit(uint64_t step) {
    say(0, Type::push, step, bytes(10, 0));
    say(1, Type::push, step, bytes(0, 20));
  }

  using Said = std::vector<std::string>;
  const CommunicationPlan plan_ =
      *make_plan({{"w", {2}, plan::DType::f32}, {"w/slot", {2}, plan::DType::f32, 0}}, {.workers = 2, .shards = 2});
  std::string path_, value_;
  std::unique_ptr<ServerState> state_;
  std::unique_ptr<Server> server_;
};

TEST_F(ServerStateTest, HasWhatItSaidItHas) {
  initialise();
  start();
  EXPECT_EQ(server_->value(0), bytes(1, 2));
  EXPECT_EQ(server_->value(1), bytes(3, 4));
  EXPECT_EQ(say(0, Type::init, 0, bytes(0, 0)), Said{"0 initialised 0"});
  EXPECT_EQ(server_->value(0), bytes(1, 2));
  commit(1);
  start();
  EXPECT_EQ(server_->version(0), 1u);
  EXPECT_EQ(server_->value(0), bytes(11, 22));
  EXPECT_EQ(server_->value(1), bytes(13, 24));  // with the chunk beside which it lies
  EXPECT_EQ(server_->version(1), 0u);
  EXPECT_EQ(say(1, Type::push, 1, bytes(0, 20)), Said{"1 committed 1"});
}

TEST_F(ServerStateTest, OfAStepThatIsNotCommittedNothingIsKept) {
  initialise();
  commit(1);
  EXPECT_EQ(say(0, Type::push, 2, bytes(10, 0)), Said{"0 received 2"});
  start();
  EXPECT_EQ(say(0, Type::probe, 2), Said{"0 missing 2"});
  EXPECT_EQ(say(1, Type::push, 2, bytes(0, 20)), Said{"1 received 2"});
  EXPECT_EQ(say(0, Type::push, 2, bytes(10, 0)), (Said{"0 received 2", "0 committed 2", "1 committed 2"}));
  EXPECT_EQ(server_->value(0), bytes(21, 42));
}

TEST_F(ServerStateTest, WhoHasFinishedIsKnown) {
  initialise();
  say(1, Type::finish, 1);
  start();
  EXPECT_EQ(say(0, Type::push, 1, bytes(10, 0)), (Said{"0 received 1", "0 committed 1"}));
}

TEST_F(ServerStateTest, SaysHowFarItIs) {
  initialise();
  EXPECT_EQ(say(1, Type::ask, 0, "", 9), Said{"1 version 0"});
  commit(1);
  EXPECT_EQ(say(1, Type::ask, 0, "", 9), Said{"1 version 1"});
}

// A worker that comes back computes step 2 again, though its value has it already.
TEST_F(ServerStateTest, AnswersWithTheStepBefore) {
  initialise();
  commit(1);
  commit(2);
  for (bool again : {false, true}) {
    if (again) start();
    EXPECT_EQ(say(1, Type::pull, 1, "", 1), Said{"1 value 1"});
    EXPECT_EQ(value_, bytes(11, 22));
    EXPECT_EQ(say(1, Type::pull, 1, "", 1, /*chunk=*/1), Said{"1 value 1"});
    EXPECT_EQ(value_, bytes(13, 24));
    EXPECT_EQ(say(1, Type::pull, 2, "", 2), Said{"1 value 2"});
    EXPECT_EQ(value_, bytes(21, 42));
    EXPECT_EQ(say(1, Type::pull, 2, "", 2, /*chunk=*/1), Said{"1 value 2"});
    EXPECT_EQ(value_, bytes(23, 44));
  }
  EXPECT_EQ(say(1, Type::pull, 0, "", 3), Said{"1 value 2"});  // that is gone
}

TEST_F(ServerStateTest, OtherKindsGetTheNewest) {
  start({.staleness = 1});
  initialise();
  commit(1);
  commit(2);
  EXPECT_EQ(say(1, Type::pull, 1, "", 1), Said{"1 value 2"});
}

// What lies beside another is pulled with the other's steps.
TEST_F(ServerStateTest, AChunkBesideAnotherHasTheOthersVersion) {
  initialise();
  EXPECT_EQ(say(1, Type::pull, 1, "", 1, /*chunk=*/1), Said{});
  say(0, Type::push, 1, bytes(10, 0));
  EXPECT_EQ(say(1, Type::push, 1, bytes(0, 20)), (Said{"1 received 1", "0 committed 1", "1 committed 1", "1 value 1"}));
  EXPECT_EQ(value_, bytes(13, 24));
}

// The one that has taken its place counts its pulls anew.
TEST_F(ServerStateTest, WhatTheDeadHadAskedForIsForgotten) {
  initialise();
  EXPECT_EQ(say(1, Type::pull, 1, "", 700), Said{});
  server_->returned(1);
  EXPECT_EQ(say(1, Type::pull, 0, "", 1), Said{"1 value 0"});
  say(0, Type::push, 1, bytes(10, 0));
  EXPECT_EQ(say(1, Type::push, 1, bytes(0, 20)), (Said{"1 received 1", "0 committed 1", "1 committed 1"}));
}

TEST_F(ServerStateTest, RefusesAnotherPlans) {
  const CommunicationPlan other = *make_plan({{"v", {2}, plan::DType::f32}}, {.workers = 2, .shards = 2});
  server_.reset();
  state_.reset();
  EXPECT_EQ(ServerState::open(path_, 6, plan_, 0).status().message(),
            path_ + ": it is the state of another job (0000000000000005, and this is 0000000000000006)");
  EXPECT_NE(ServerState::open(path_, 5, other, 0).status().message().find("it is of another plan"), std::string::npos);
}

}  // namespace
}  // namespace mxc::kv
