// The server of level 1 by itself: what it says to its machine and to level 2, in which order, and how often.
#include "runtime/kv/level1_server.h"

#include <gtest/gtest.h>

#include <cstring>

namespace mxc::kv {
namespace {

// Four workers on two machines; one chunk, which rank 0 holds. Rank 2 leads it on the second machine.
class Level1ServerTest : public testing::Test {
 protected:
  explicit Level1ServerTest(int64_t shards = 4, Consistency consistency = {}) : plan_(plan_of(shards)), server_(plan_, {.rank = 2, .consistency = consistency}) {
    EXPECT_EQ(plan_.server_for(0, 3), plan_.level1_of_rank(2));
    for (const Request& request : sent()) from_level2(Type::opened, request.server, 0);
  }

  static CommunicationPlan plan_of(int64_t shards) {
    CommunicationPlan plan = *make_plan({{"a", {1}, plan::DType::f32}}, {.servers = 1, .workers = 4, .shards = shards});
    plan.machines = Machines({"a", "a", "b", "b"});
    return plan;
  }

  static std::string bytes(float value) { return std::string(reinterpret_cast<const char*>(&value), sizeof value); }

  absl::Status from_member(uint32_t member, Type type, uint64_t step, const std::string& payload = "", uint32_t weight = 0, uint64_t sequence = 0, uint32_t part = 0) {
    Header header;
    header.type = type;
    header.step = step;
    header.weight = weight;
    header.sequence = sequence;
    header.part = part;
    replies_.clear();
    return server_.receive(member, {header, payload}, replies_);
  }
  void from_level2(Type type, uint32_t server, uint64_t step, uint64_t sequence = 0, const std::string& payload = "") {
    Header header;
    header.type = type;
    header.step = step;
    header.sequence = sequence;
    replies_.clear();
    EXPECT_TRUE(server_.receive_from_level2(server, {header, payload}, Time(0), replies_).ok());
  }

  std::vector<Request> sent() {
    std::vector<Request> requests;
    Request request;
    while (server_.worker().send(Time(0), request)) {
      requests.push_back(request);
      payloads_.emplace_back(request.payload);
    }
    return requests;
  }

  // "received to 2" and so on.
  std::vector<std::string> replies() const {
    std::vector<std::string> said;
    for (const Reply& reply : replies_) said.push_back(std::string(name_of(reply.header.type)) + " to " + std::to_string(reply.worker));
    return said;
  }
  using Said = std::vector<std::string>;

  const CommunicationPlan plan_;
  Level1Server server_;
  std::vector<Reply> replies_;
  std::vector<std::string> payloads_;
};

TEST_F(Level1ServerTest, ContributesTheSumOnceAllHave) {
  EXPECT_TRUE(from_member(3, Type::push, 1, bytes(2.5f), 1).ok());
  EXPECT_EQ(replies(), Said{"received to 3"});
  EXPECT_TRUE(sent().empty());
  EXPECT_TRUE(from_member(3, Type::push, 1, bytes(2.5f), 1).ok());  // again
  EXPECT_EQ(server_.kept_bytes(), 4);
  EXPECT_TRUE(from_member(2, Type::probe, 1).ok());
  EXPECT_EQ(replies(), Said{"missing to 2"});
  EXPECT_TRUE(from_member(2, Type::push, 1, bytes(4), 1).ok());
  EXPECT_EQ(replies(), Said{"received to 2"});
  payloads_.clear();
  const std::vector<Request> requests = sent();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].header.type, Type::push);
  EXPECT_EQ(requests[0].header.weight, 2u);
  EXPECT_EQ(payloads_[0], bytes(6.5f));
  EXPECT_EQ(server_.kept_bytes(), 0);
  EXPECT_TRUE(from_member(3, Type::probe, 1).ok());
  EXPECT_EQ(replies(), Said{"received to 3"});
  from_level2(Type::committed, 0, 1);
  EXPECT_EQ(replies(), (Said{"committed to 2", "committed to 3"}));
  EXPECT_TRUE(from_member(3, Type::push, 1, bytes(2.5f), 1).ok());
  EXPECT_EQ(replies(), Said{"committed to 3"});
  EXPECT_EQ(server_.kept_bytes(), 0);
}

TEST_F(Level1ServerTest, OneThatHasFinishedIsNotWaitedFor) {
  EXPECT_TRUE(from_member(2, Type::finish, 2).ok());
  EXPECT_EQ(replies(), Said{"finished to 2"});
  EXPECT_TRUE(from_member(3, Type::push, 2, bytes(8), 1).ok());  // before its first, which was lost
  EXPECT_TRUE(sent().empty());
  EXPECT_TRUE(from_member(3, Type::push, 1, bytes(1), 1).ok());
  EXPECT_TRUE(sent().empty());
  EXPECT_TRUE(from_member(2, Type::push, 1, bytes(2), 1).ok());
  payloads_.clear();
  EXPECT_EQ(sent().size(), 2u);
  EXPECT_EQ(payloads_, (std::vector{bytes(3), bytes(8)}));
  EXPECT_TRUE(from_member(3, Type::finish, 3).ok());
  const std::vector<Request> requests = sent();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].header.type, Type::finish);
  EXPECT_EQ(requests[0].header.step, 3u);
}

TEST_F(Level1ServerTest, WhatWeighsNothingIsNotAdded) {
  EXPECT_TRUE(from_member(2, Type::push, 1).ok());
  EXPECT_TRUE(from_member(3, Type::push, 1, bytes(-0.0f), 1).ok());
  payloads_.clear();
  EXPECT_EQ(sent().front().header.weight, 1u);
  EXPECT_EQ(payloads_[0], bytes(-0.0f));  // and not 0 + -0
  EXPECT_TRUE(from_member(2, Type::push, 2).ok());
  EXPECT_TRUE(from_member(3, Type::push, 2).ok());
  const std::vector<Request> requests = sent();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].header.weight, 0u);
  EXPECT_TRUE(requests[0].payload.empty());
}

TEST_F(Level1ServerTest, BringsAValueOnceForAll) {
  EXPECT_TRUE(from_member(2, Type::pull, 0, "", 0, 7).ok());
  EXPECT_TRUE(replies().empty());
  const std::vector<Request> requests = sent();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].header.type, Type::pull);
  EXPECT_TRUE(from_member(3, Type::pull, 0, "", 0, 9).ok());
  EXPECT_TRUE(sent().empty());
  from_level2(Type::value, 0, 0, requests[0].header.sequence, bytes(5));
  ASSERT_EQ(replies(), (Said{"value to 2", "value to 3"}));
  EXPECT_EQ(replies_[1].header.sequence, 9u);
  EXPECT_EQ(replies_[1].payload, bytes(5));
  EXPECT_TRUE(from_member(3, Type::pull, 0, "", 0, 10).ok());
  EXPECT_EQ(replies(), Said{"value to 3"});
  EXPECT_TRUE(sent().empty());
}

class BoundedTest : public Level1ServerTest {
 protected:
  BoundedTest() : Level1ServerTest(4, {.staleness = 1}) {}
};

// Worker 2 pulls a version that worker 3 has still to contribute to, for which it waits for an earlier one.
TEST_F(BoundedTest, TheLowestVersionIsAskedForFirst) {
  EXPECT_TRUE(from_member(2, Type::pull, 2, "", 0, 1).ok());
  const std::vector<Request> first = sent();
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].header.step, 2u);
  EXPECT_TRUE(from_member(3, Type::pull, 1, "", 0, 1).ok());
  const std::vector<Request> second = sent();
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].header.step, 1u);
  from_level2(Type::value, 0, 1, second[0].header.sequence, bytes(1));
  EXPECT_EQ(replies(), Said{"value to 3"});
  const std::vector<Request> third = sent();
  ASSERT_EQ(third.size(), 1u);
  EXPECT_EQ(third[0].header.step, 2u);
  from_level2(Type::value, 0, 2, third[0].header.sequence, bytes(2));
  EXPECT_EQ(replies(), Said{"value to 2"});
}

TEST_F(Level1ServerTest, WhatBreaksTheProtocolChangesNothing) {
  EXPECT_EQ(from_member(1, Type::push, 1, bytes(1), 1).message(), "push of chunk 0: the worker is on another machine");
  EXPECT_EQ(from_member(2, Type::push, 3, bytes(1), 1).message(), "push of chunk 0: no worker may be so far ahead");
  EXPECT_EQ(from_member(2, Type::push, 1, bytes(1), 1, 0, 1).message(), "push of chunk 0: the worker has no such part");
  EXPECT_EQ(from_member(2, Type::probe, 1, "", 0, 0, 1).message(), "probe of chunk 0: the worker has no such part");
  EXPECT_EQ(from_member(2, Type::pull, 3, "", 0, 1).message(), "pull of chunk 0: no worker is so far");
  EXPECT_EQ(from_member(2, Type::init, 0, bytes(1)).message(), "init of chunk 0: servers of level 1 take no such messages");
  EXPECT_TRUE(from_member(2, Type::finish, 1).ok());
  EXPECT_EQ(from_member(2, Type::push, 1, bytes(1), 1).message(), "push of chunk 0: the worker has finished");
  EXPECT_EQ(server_.kept_bytes(), 0);
  Header elsewhere;
  elsewhere.type = Type::push;
  elsewhere.chunk = 1;
  EXPECT_EQ(server_.receive(2, {elsewhere, ""}, replies_).message(), "push of chunk 1: it lies on another server");
  Header compressed;
  compressed.type = Type::push;
  compressed.step = 1;
  compressed.codec = 1;
  EXPECT_EQ(server_.receive(3, {compressed, ""}, replies_).message(), "push of chunk 0: it is not compressed as the plan says");
  EXPECT_TRUE(sent().empty());
}

}  // namespace
}  // namespace mxc::kv
