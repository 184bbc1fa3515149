// What a server does with messages, one at a time.
#include "runtime/kv/server.h"

#include <gtest/gtest.h>

#include <cstring>

#include "runtime/kv/crc32c.h"

namespace mxc::kv {
namespace {

// Chunk 0: two f32, of two workers with a shard each.
class ServerTest : public testing::Test {
 protected:
  explicit ServerTest(const Consistency& consistency = {}, int64_t shards = 2)
      : plan_(*make_plan({{"w", {2}, plan::DType::f32}}, {.workers = 2, .shards = shards})),
        server_(plan_, 0, consistency, [this](const Step& step) {
          weights_.push_back(step.weight);
          if (fail_) return absl::InternalError("the updater failed");
          std::memcpy(step.value.data(), step.sum.data(), step.sum.size());
          return absl::OkStatus();
        }) {}

  static std::string bytes(float a, float b) {
    const float values[] = {a, b};
    return std::string(reinterpret_cast<const char*>(values), sizeof values);
  }

  // What is answered, as "worker type step", in order.
  std::vector<std::string> say(uint32_t worker, Type type, uint64_t step, const std::string& payload = "", uint32_t part = 0,
                               uint64_t sequence = 0, uint32_t weight = 1) {
    Message message;
    message.header = {type, 0, 0, worker, 0, 0, part, step, sequence, weight};
    message.payload = payload;
    std::vector<Reply> replies;
    status_ = server_.receive(worker, message, replies);
    std::vector<std::string> said;
    for (const Reply& reply : replies) {
      said.push_back(std::to_string(reply.worker) + " " + name_of(reply.header.type) + " " + std::to_string(reply.header.step));
      if (reply.header.type == Type::value) value_ = reply.payload;
    }
    return said;
  }

  // The values that worker 1's push is answered with.
  std::vector<Summed> told(uint64_t step, const std::string& payload) {
    Message message;
    message.header = {Type::push, 0, 0, 1, 0, 0, 0, step, 0, 1};
    message.payload = payload;
    std::vector<Reply> replies;
    EXPECT_TRUE(server_.receive(1, message, replies).ok());
    std::vector<Summed> values;
    for (const Reply& reply : replies)
      if (reply.header.type == Type::value) values.push_back(reply.kept);
    return values;
  }

  using Said = std::vector<std::string>;
  CommunicationPlan plan_;
  Server server_;
  std::vector<uint64_t> weights_;
  bool fail_ = false;
  absl::Status status_;
  std::string value_;
};

TEST_F(ServerTest, CommitsWhenAllHaveContributed) {
  EXPECT_EQ(say(0, Type::init, 0, bytes(7, 8)), Said{"0 initialised 0"});
  EXPECT_EQ(say(0, Type::push, 1, bytes(1, 2)), Said{"0 received 1"});
  EXPECT_EQ(server_.version(0), 0u);
  EXPECT_EQ(server_.awaited(0), std::vector<uint32_t>{1});
  EXPECT_EQ(say(1, Type::push, 1, bytes(10, 20)), (Said{"1 received 1", "0 committed 1", "1 committed 1"}));
  EXPECT_EQ(server_.version(0), 1u);
  EXPECT_EQ(server_.value(0), bytes(11, 22));
  EXPECT_EQ(weights_, std::vector<uint64_t>{2});
  EXPECT_EQ(server_.kept_bytes(), 0);
}

// A copy serves all that are answered at once, and outlives the value; its checksum is that of its bytes.
TEST_F(ServerTest, AllAreToldOneCopyOfAValue) {
  say(0, Type::init, 0, bytes(7, 8));
  say(0, Type::pull, 1, "", 0, 1);
  say(1, Type::pull, 1, "", 0, 2);
  say(0, Type::push, 1, bytes(1, 2));
  const std::vector<Summed> first = told(1, bytes(10, 20));
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].frame.data(), first[1].frame.data());
  say(0, Type::pull, 2, "", 0, 3);
  say(0, Type::push, 2, bytes(5, 6));
  const std::vector<Summed> second = told(2, bytes(50, 60));
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(std::string_view(first[0].frame), bytes(11, 22));
  EXPECT_EQ(std::string_view(second[0].frame), bytes(55, 66));
  for (const Summed& value : {first[0], second[0]}) EXPECT_EQ(value.sum(), crc32c(value.frame.data(), value.frame.size()));
}

TEST_F(ServerTest, ADuplicateIsAnsweredAndNotAdded) {
  say(0, Type::init, 0, bytes(0, 0));
  say(0, Type::push, 1, bytes(1, 2));
  EXPECT_EQ(say(0, Type::push, 1, bytes(1, 2)), Said{"0 received 1"});
  EXPECT_EQ(server_.kept_bytes(), 8);
  say(1, Type::push, 1, bytes(10, 20));
  EXPECT_EQ(server_.value(0), bytes(11, 22));
  EXPECT_EQ(say(1, Type::push, 1, bytes(10, 20)), Said{"1 committed 1"});
  EXPECT_EQ(server_.version(0), 1u);
  EXPECT_EQ(server_.value(0), bytes(11, 22));
}

TEST_F(ServerTest, APullWaitsForItsVersion) {
  EXPECT_EQ(say(1, Type::pull, 0, "", 0, 5), Said{});
  EXPECT_EQ(say(0, Type::init, 0, bytes(7, 8)), (Said{"0 initialised 0", "1 value 0"}));
  EXPECT_EQ(value_, bytes(7, 8));
  EXPECT_EQ(say(0, Type::pull, 1, "", 0, 6), Said{});
  say(0, Type::push, 1, bytes(1, 2));
  EXPECT_EQ(say(1, Type::push, 1, bytes(10, 20)), (Said{"1 received 1", "0 committed 1", "1 committed 1", "0 value 1"}));
  EXPECT_EQ(value_, bytes(11, 22));
}

TEST_F(ServerTest, TheFirstInitialValueStays) {
  say(0, Type::init, 0, bytes(7, 8));
  EXPECT_EQ(say(0, Type::init, 0, bytes(1, 1)), Said{"0 initialised 0"});
  EXPECT_EQ(server_.value(0), bytes(7, 8));
}

TEST_F(ServerTest, AWorkerThatHasFinishedIsNotWaitedFor) {
  say(0, Type::init, 0, bytes(0, 0));
  say(0, Type::push, 1, bytes(1, 2));
  EXPECT_EQ(say(1, Type::finish, 1), (Said{"1 finished 1", "0 committed 1"}));
  EXPECT_EQ(server_.value(0), bytes(1, 2));
  EXPECT_EQ(weights_, std::vector<uint64_t>{1});
  EXPECT_EQ(say(0, Type::push, 2, bytes(3, 4)), (Said{"0 received 2", "0 committed 2"}));
  EXPECT_EQ(say(1, Type::push, 3, bytes(1, 1)), Said{});
  EXPECT_EQ(status_.message(), "push of chunk 0: the worker has finished");
}

TEST_F(ServerTest, AProbeSaysWhatHasBecomeOfAContribution) {
  say(0, Type::init, 0, bytes(0, 0));
  EXPECT_EQ(say(0, Type::probe, 1), Said{"0 missing 1"});
  say(0, Type::push, 1, bytes(1, 2));
  EXPECT_EQ(say(0, Type::probe, 1), Said{"0 received 1"});
  say(1, Type::push, 1, bytes(1, 2));
  EXPECT_EQ(say(0, Type::probe, 1), Said{"0 committed 1"});
}

TEST_F(ServerTest, RefusesWhatNoWorkerMaySay) {
  say(0, Type::init, 0, bytes(0, 0));
  say(0, Type::push, 3, bytes(1, 1));
  EXPECT_EQ(status_.message(), "push of chunk 0: no worker may be so far ahead");
  say(0, Type::push, 1, bytes(1, 1), 1);
  EXPECT_EQ(status_.message(), "push of chunk 0: the worker has no such part");
  say(0, Type::probe, 1, "", 1);
  EXPECT_EQ(status_.message(), "probe of chunk 0: the worker has no such part");
  say(0, Type::pull, 3);
  EXPECT_EQ(status_.message(), "pull of chunk 0: no worker is so far");
  say(0, Type::committed, 1);
  EXPECT_EQ(status_.message(), "committed of chunk 0: servers take no such messages");
  say(2, Type::push, 1, bytes(1, 1));
  EXPECT_EQ(status_.message(), "push of chunk 0: there is no such worker");
  EXPECT_EQ(server_.kept_bytes(), 0);
}

TEST_F(ServerTest, AnUpdateThatFailsIsReported) {
  say(0, Type::init, 0, bytes(0, 0));
  fail_ = true;
  say(0, Type::push, 1, bytes(1, 2));
  EXPECT_TRUE(status_.ok());
  say(1, Type::push, 1, bytes(1, 2));
  EXPECT_EQ(status_.message(), "the updater failed");
}

TEST_F(ServerTest, ChunksOfOtherServersAreRefused) {
  Server other(plan_, 1, {}, [](const Step&) { return absl::OkStatus(); });
  Message message;
  message.header.type = Type::push;
  std::vector<Reply> replies;
  EXPECT_EQ(other.receive(0, message, replies).message(), "push of chunk 0: it lies on another server");
}

class BoundedServerTest : public ServerTest {
 protected:
  BoundedServerTest() : ServerTest({.staleness = 2}) {}
};

// Worker 0 may be two steps ahead of what it pulls, and its contributions are kept in order.
TEST_F(BoundedServerTest, KeepsContributionsOfLaterSteps) {
  say(0, Type::init, 0, bytes(0, 0));
  for (uint64_t step = 1; step <= 4; ++step) EXPECT_EQ(say(0, Type::push, step, bytes(static_cast<float>(step), 0)).size(), 1u);
  say(0, Type::push, 5, bytes(1, 1));
  EXPECT_EQ(status_.message(), "push of chunk 0: no worker may be so far ahead");
  EXPECT_EQ(say(1, Type::push, 2, bytes(0, 200)), Said{"1 received 2"});
  EXPECT_EQ(say(1, Type::push, 1, bytes(0, 100)),
            (Said{"1 received 1", "0 committed 1", "1 committed 1", "0 committed 2", "1 committed 2"}));
  EXPECT_EQ(server_.value(0), bytes(2, 200));
}

// Who has nothing for a step says so by a contribution that weighs nothing: its bytes do not matter.
TEST_F(ServerTest, WhatWeighsNothingIsNotAdded) {
  say(0, Type::init, 0, bytes(7, 8));
  say(0, Type::push, 1, bytes(-0.0f, 2));
  EXPECT_EQ(say(1, Type::push, 1, bytes(10, 20), 0, 0, 0), (Said{"1 received 1", "0 committed 1", "1 committed 1"}));
  EXPECT_EQ(server_.value(0), bytes(-0.0f, 2));
  EXPECT_EQ(weights_, std::vector<uint64_t>{1});
  say(0, Type::push, 2, bytes(1, 1), 0, 0, 0);
  EXPECT_EQ(say(1, Type::push, 2, bytes(1, 1), 0, 0, 0), (Said{"1 received 2", "0 committed 2", "1 committed 2"}));
  EXPECT_EQ(server_.value(0), bytes(-0.0f, 2));  // no update
  EXPECT_EQ(weights_.size(), 1u);
}

// An update sees the chunks that lie beside its own.
TEST(Server, UpdatesWhatLiesBeside) {
  const CommunicationPlan plan = *make_plan({{"w", {1}, plan::DType::i32}, {"w/count", {1}, plan::DType::i32, 0}}, {});
  Server server(plan, 0, {}, [](const Step& step) {
    EXPECT_EQ(step.beside.size(), 1u);
    ++step.beside[0][0];
    return absl::OkStatus();
  });
  std::vector<Reply> replies;
  const auto say = [&](Type type, uint32_t chunk, uint64_t step) {
    Message message;
    message.header.type = type;
    message.header.chunk = chunk;
    message.header.step = step;
    message.header.weight = 1;
    message.payload = type == Type::pull ? std::string_view() : std::string_view("\5\0\0\0", 4);
    replies.clear();
    EXPECT_TRUE(server.receive(0, message, replies).ok());
  };
  say(Type::init, 0, 0);
  say(Type::init, 1, 0);
  say(Type::push, 0, 1);
  say(Type::push, 0, 2);
  say(Type::pull, 1, 0);  // nothing is pushed to it: its first version is whatever it is now
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].payload[0], 7);
}

class AsyncServerTest : public ServerTest {
 protected:
  AsyncServerTest() : ServerTest({.kind = Consistency::Kind::async}) {}
};

TEST_F(AsyncServerTest, CommitsEachContributionAlone) {
  say(0, Type::init, 0, bytes(0, 0));
  EXPECT_EQ(say(1, Type::push, 1, bytes(1, 2)), (Said{"1 received 1", "1 committed 1"}));
  EXPECT_EQ(server_.version(0), 1u);
  EXPECT_EQ(say(1, Type::push, 1, bytes(1, 2)), Said{"1 committed 1"});
  EXPECT_EQ(say(0, Type::pull, 1, "", 0, 1), Said{});  // of its own pushes the first is not there
  EXPECT_EQ(say(0, Type::push, 1, bytes(5, 6)), (Said{"0 received 1", "0 committed 1", "0 value 2"}));
  EXPECT_EQ(value_, bytes(5, 6));
}

TEST_F(AsyncServerTest, KeepsTheOrderOfAWorker) {
  say(0, Type::init, 0, bytes(0, 0));
  EXPECT_EQ(say(0, Type::push, 2, bytes(2, 2)), Said{"0 received 2"});
  EXPECT_EQ(say(0, Type::push, 1, bytes(1, 1)), (Said{"0 received 1", "0 committed 1", "0 committed 2"}));
  EXPECT_EQ(server_.value(0), bytes(2, 2));
}

class PartsServerTest : public ServerTest {
 protected:
  PartsServerTest() : ServerTest({}, 6) {}  // shards 0-2 and 3-5: two parts each
};

// ((0,1), (2, 3)), (4, 5), where each bracket is a sum; 2 and 3 come from different workers.
TEST_F(PartsServerTest, AddsPartsByTheTree) {
  const float big = 16777216;  // 2^24: big + 1 is big
  say(0, Type::init, 0, bytes(0, 0));
  say(1, Type::push, 1, bytes(0, 0), 1);
  say(1, Type::push, 1, bytes(1, 1), 0);
  say(0, Type::push, 1, bytes(1, 0), 1);
  say(0, Type::push, 1, bytes(big, big), 0);
  EXPECT_EQ(server_.version(0), 1u);
  EXPECT_EQ(server_.value(0), bytes(big + 2, big));
  EXPECT_EQ(weights_, std::vector<uint64_t>{4});
}

// What lies beside a chunk is updated with it: no step is committed before both have their first values, whichever comes last.
TEST(ServerBeside, WaitsForFirstValues) {
  const CommunicationPlan plan = *make_plan({{"w", {1}, plan::DType::f32}, {"w/slot", {1}, plan::DType::f32, 0}}, {});
  std::vector<std::string> slots;
  Server server(plan, 0, {}, [&](const Step& step) {
    slots.emplace_back(step.beside.front().begin(), step.beside.front().end());
    return absl::OkStatus();
  });
  const auto say = [&](Type type, uint32_t chunk, const std::string& payload) {
    Message message;
    message.header = {type, 0, 0, 0, 0, chunk, 0, type == Type::push ? 1u : 0u, 0, 1};
    message.payload = payload;
    std::vector<Reply> replies;
    EXPECT_TRUE(server.receive(0, message, replies).ok());
  };
  say(Type::init, 0, "wwww");
  say(Type::push, 0, "gggg");
  EXPECT_EQ(server.version(0), 0u);
  say(Type::init, 1, "slot");
  EXPECT_EQ(server.version(0), 1u);
  EXPECT_EQ(slots, std::vector<std::string>{"slot"});
}

// Chunk 0 is compressed in both directions; the update sends what it has added.
class CompressingServerTest : public testing::Test {
 protected:
  static CommunicationPlan planned() {
    PlanRules rules;
    rules.workers = rules.shards = 2;
    rules.compression = *parse_compression("fp16");
    Key key = {"w", {2}, plan::DType::f32};
    key.compressed = Key::Compressed::differences;
    return *make_plan({key}, rules);
  }
  static std::string halves(uint16_t a, uint16_t b) {
    const uint16_t values[] = {a, b};
    return std::string(reinterpret_cast<const char*>(values), sizeof values);
  }
  static std::string floats(float a, float b) {
    const float values[] = {a, b};
    return std::string(reinterpret_cast<const char*>(values), sizeof values);
  }
  std::vector<Reply> say(uint32_t worker, Type type, uint64_t step, const std::string& payload, uint8_t codec, uint32_t weight = 1, uint64_t sequence = 0) {
    Message message;
    message.header = {type, 0, 0, worker, 0, 0, 0, step, sequence, weight, codec};
    message.payload = payload;
    std::vector<Reply> replies;
    status_ = server_.receive(worker, message, replies);
    return replies;
  }

  CommunicationPlan plan_ = planned();
  Server server_{plan_, 0, {}, [this](const Step& step) {
                   sums_.push_back(std::string(step.sum.begin(), step.sum.end()));
                   *step.difference = differs_;
                   return absl::OkStatus();
                 }};
  std::vector<std::string> sums_;
  std::string differs_;
  absl::Status status_;
};

TEST_F(CompressingServerTest, AddsWhatItUnpacks) {
  say(0, Type::init, 0, floats(0, 0), 0);
  say(0, Type::push, 1, halves(0x3c00, 0xc000), 1);  // 1, -2
  say(1, Type::push, 1, halves(0x3800, 0x4200), 1);  // 0.5, 3
  ASSERT_TRUE(status_.ok()) << status_;
  EXPECT_EQ(sums_, std::vector<std::string>{floats(1.5f, 1)});
}

TEST_F(CompressingServerTest, SendsTheDifferenceToWhomItServes) {
  say(0, Type::init, 0, floats(7, 8), 0);
  differs_ = halves(0x3c00, 0x3c00);
  say(0, Type::push, 1, halves(0, 0), 1);
  say(1, Type::push, 1, halves(0, 0), 1);
  const std::vector<Reply> whole = say(0, Type::pull, 1, "", 0, /*weight=*/0, 5), difference = say(1, Type::pull, 1, "", 0, /*weight=*/1, 6);
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_EQ(whole[0].header.codec, 0);
  EXPECT_EQ(whole[0].payload, floats(7, 8));
  ASSERT_EQ(difference.size(), 1u);
  EXPECT_EQ(difference[0].header.codec, 1);
  EXPECT_EQ(difference[0].payload, differs_);
  // A step of nothing differs in nothing that is known.
  say(0, Type::push, 2, "", 0, /*weight=*/0);
  say(1, Type::push, 2, "", 0, /*weight=*/0);
  ASSERT_TRUE(status_.ok()) << status_;
  EXPECT_EQ(say(1, Type::pull, 2, "", 0, /*weight=*/1, 7)[0].header.codec, 0);
  EXPECT_EQ(sums_.size(), 1u);
}

TEST_F(CompressingServerTest, RefusesWhatIsNotAsPlanned) {
  say(0, Type::init, 0, floats(0, 0), 0);
  EXPECT_TRUE(say(0, Type::push, 1, floats(1, 2), 0).empty());
  EXPECT_EQ(status_.message(), "push of chunk 0: it is not compressed as the plan says");
  EXPECT_TRUE(say(0, Type::push, 1, "odd", 1).empty());
  EXPECT_EQ(status_.message(), "push of chunk 0: its compressed elements cannot be");
  EXPECT_EQ(server_.awaited(0), (std::vector<uint32_t>{0, 1}));
}

}  // namespace
}  // namespace mxc::kv
