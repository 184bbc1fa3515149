// What a worker says, when, and to whom.
#include "runtime/kv/worker.h"

#include <gtest/gtest.h>

namespace mxc::kv {
namespace {

using std::chrono::seconds;

class WorkerTest : public testing::Test {
 protected:
  // Keys a, b and c of 8, 400 and 40 bytes, all on one server.
  explicit WorkerTest(const WorkerOptions& options = {.credit = 420})
      : plan_(*make_plan({{"a", {2}, plan::DType::f32}, {"b", {100}, plan::DType::f32}, {"c", {10}, plan::DType::f32}}, {})),
        worker_(plan_, options) {}

  // All that is sent now: "type chunk step".
  std::vector<std::string> sent() {
    std::vector<std::string> said;
    Request request;
    while (worker_.send(now_, request)) {
      said.push_back(std::string(name_of(request.header.type)) + " " + std::to_string(request.header.chunk) + " " +
                     std::to_string(request.header.step));
      payload_ = request.payload;
    }
    return said;
  }
  void hear(Type type, uint32_t chunk, uint64_t step, uint64_t sequence = 0, const std::string& payload = "") {
    Message message;
    message.header = {type, 0, 0, 0, 0, chunk, 0, step, sequence, 0};
    message.payload = payload;
    status_ = worker_.receive(0, message, now_, pulled_);
  }
  void open() {
    EXPECT_EQ(sent(), Said{"open 0 " + std::to_string(plan_.hash)});
    hear(Type::opened, 0, 0);
  }
  void push(uint32_t chunk, uint64_t step) {
    worker_.push(chunk, 0, step, 1, std::string(plan_.chunks[chunk].bytes, 'x'), -static_cast<int32_t>(chunk));
  }

  using Said = std::vector<std::string>;
  CommunicationPlan plan_;
  Worker worker_;
  Time now_ = seconds(100);
  std::vector<Pulled> pulled_;
  std::string payload_;
  absl::Status status_;
};

class ReturningServersTest : public WorkerTest {
 protected:
  ReturningServersTest() : WorkerTest({.credit = 420, .servers_return = true}) {}
};

TEST_F(WorkerTest, KnowsSinceWhenAServerOwesItSomething) {
  const auto is_silent = [&] { return worker_.is_silent(0, now_, seconds(3)); };
  now_ += seconds(10);
  EXPECT_FALSE(is_silent());  // nothing has been sent
  open();
  now_ += seconds(10);
  EXPECT_FALSE(is_silent());  // nothing is wanted
  worker_.ask(7, 1);
  worker_.ask(8, 2);
  sent();
  now_ += seconds(2);
  EXPECT_FALSE(is_silent());
  hear(Type::version, 1, 0, 7);
  now_ += seconds(2);
  EXPECT_FALSE(is_silent());  // it has said something
  now_ += seconds(1);
  EXPECT_TRUE(is_silent());
  hear(Type::version, 2, 0, 8);
  now_ += seconds(10);
  EXPECT_FALSE(is_silent());
}

TEST_F(WorkerTest, AsksForVersions) {
  open();
  worker_.ask(7, 1);
  EXPECT_EQ(sent(), Said{"ask 1 0"});
  EXPECT_FALSE(worker_.is_idle());
  hear(Type::version, 1, 12, 7);
  hear(Type::version, 1, 12, 7);
  ASSERT_EQ(pulled_.size(), 1u);
  EXPECT_EQ(pulled_[0].ticket, 7u);
  EXPECT_EQ(pulled_[0].version, 12u);
  EXPECT_TRUE(worker_.is_idle());
}

// A server that comes back is asked for what was committed last, of each chunk.
TEST_F(ReturningServersTest, WhatWasCommittedIsChecked) {
  open();
  for (uint64_t step : {1u, 2u}) {
    push(0, step);
    sent();
    hear(Type::committed, 0, step);
  }
  worker_.lost(0);
  open();
  EXPECT_EQ(sent(), Said{"probe 0 2"});
  hear(Type::committed, 0, 2);
  EXPECT_TRUE(status_.ok());
  EXPECT_TRUE(worker_.is_idle());
  worker_.lost(0);
  open();
  EXPECT_EQ(sent(), Said{"probe 0 2"});
  hear(Type::missing, 0, 2);
  EXPECT_EQ(status_.message(), "rank 0 has lost step 2 of what it had updated: its state was damaged or removed");
  EXPECT_EQ(status_.code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(WorkerTest, OpensFirst) {
  push(0, 1);
  EXPECT_EQ(sent(), Said{"open 0 " + std::to_string(plan_.hash)});
  EXPECT_EQ(sent(), Said{});
  hear(Type::opened, 0, 0);
  EXPECT_EQ(sent(), Said{"push 0 1"});
}

TEST_F(WorkerTest, SendsWhatIsUsedFirstFirst) {
  open();
  push(2, 1);
  push(0, 1);
  EXPECT_EQ(sent(), (Said{"push 0 1", "push 2 1"}));
}

// Credit of 420 bytes: 8 and 400 are on their way, 40 more wait until the server has the 400.
TEST_F(WorkerTest, WaitsForCredit) {
  open();
  push(0, 1);
  push(1, 1);
  push(2, 1);
  EXPECT_EQ(sent(), (Said{"push 0 1", "push 1 1"}));
  EXPECT_EQ(worker_.bytes_on_the_way(0), 408);
  worker_.pull(1, 0, 1);
  EXPECT_EQ(sent(), Said{"pull 0 1"});  // what carries nothing needs no credit
  hear(Type::received, 1, 1);
  EXPECT_EQ(worker_.bytes_on_the_way(0), 8);
  EXPECT_EQ(sent(), Said{"push 2 1"});
}

// Of 600 bytes to servers elsewhere each of three has a third.
TEST(WorkerCredit, IsSharedAmongServersElsewhere) {
  std::vector<Key> keys;
  for (int i = 0; i < 8; ++i) keys.push_back({"k" + std::to_string(i), {25}, plan::DType::f32});
  const CommunicationPlan plan = *make_plan(keys, {.servers = 4, .workers = 4, .shards = 4});
  Worker worker(plan, {.rank = 0, .credit = 600});
  Request request;
  std::vector<Pulled> pulled;
  while (worker.send(seconds(1), request)) {
    Message opened;
    opened.header.type = Type::opened;
    ASSERT_TRUE(worker.receive(request.server, opened, seconds(1), pulled).ok());
  }
  for (uint32_t chunk = 0; chunk < 8; ++chunk) worker.push(chunk, 0, 1, 1, std::string(100, 'x'), 0);
  while (worker.send(seconds(1), request)) {}
  for (uint32_t server = 0; server < 4; ++server) EXPECT_EQ(worker.bytes_on_the_way(server), 200) << server;
  for (uint32_t chunk = 0; chunk < 8; ++chunk) worker.push(chunk, 0, 2, 1, std::string(100, 'x'), 0);
  EXPECT_FALSE(worker.send(seconds(1), request));
}

// The first chunk's push is lost, and takes credit without which a chunk that is used before it cannot go: its probe is not held up.
TEST_F(WorkerTest, AProbeWaitsForNoCredit) {
  open();
  push(1, 1);
  EXPECT_EQ(sent(), Said{"push 1 1"});
  push(0, 1);
  push(0, 2);
  push(0, 3);
  EXPECT_EQ(sent(), (Said{"push 0 1", "push 0 2"}));
  now_ += seconds(2);
  const Said said = sent();
  EXPECT_EQ(std::count(said.begin(), said.end(), "probe 1 1"), 1);
}

TEST_F(WorkerTest, AChunkBeyondTheCreditTravelsAlone) {
  Worker worker(plan_, {.credit = 10});
  Request request;
  ASSERT_TRUE(worker.send(now_, request));
  Message opened;
  opened.header.type = Type::opened;
  ASSERT_TRUE(worker.receive(0, opened, now_, pulled_).ok());
  worker.push(1, 0, 1, 1, std::string(400, 'x'), 0);
  EXPECT_TRUE(worker.send(now_, request));
}

TEST_F(WorkerTest, KeepsContributionsUntilTheyAreCommitted) {
  open();
  push(0, 1);
  sent();
  hear(Type::received, 0, 1);
  EXPECT_FALSE(worker_.is_idle());
  hear(Type::committed, 0, 1);
  EXPECT_TRUE(worker_.is_idle());
  EXPECT_EQ(worker_.committed(0), 1u);
}

TEST_F(WorkerTest, AsksWhatHasBecomeOfThem) {
  open();
  push(0, 1);
  EXPECT_EQ(sent(), Said{"push 0 1"});
  EXPECT_EQ(worker_.next_time(), now_ + seconds(1));
  now_ += seconds(1);
  EXPECT_EQ(sent(), Said{"probe 0 1"});
  EXPECT_EQ(payload_, "");
  hear(Type::missing, 0, 1);
  EXPECT_EQ(sent(), Said{"push 0 1"});
  EXPECT_EQ(payload_, std::string(8, 'x'));
}

// Or lost bytes would hold back themselves.
TEST_F(WorkerTest, WhatIsMissingTakesNoCredit) {
  open();
  push(1, 1);
  push(2, 1);
  EXPECT_EQ(sent(), Said{"push 1 1"});
  now_ += seconds(1);
  EXPECT_EQ(sent(), Said{"probe 1 1"});
  hear(Type::missing, 1, 1);
  EXPECT_EQ(worker_.bytes_on_the_way(0), 0);
  EXPECT_EQ(sent(), Said{"push 1 1"});
}

TEST_F(WorkerTest, IsMorePatientEachTime) {
  open();
  push(0, 1);
  std::vector<int> times;
  const Time begin = now_;
  for (int second = 0; second < 40; ++second, now_ += seconds(1))
    if (!sent().empty()) times.push_back(static_cast<int>((now_ - begin) / seconds(1)));
  EXPECT_EQ(times, (std::vector<int>{0, 1, 3, 7, 15, 31}));
}

// The answer is behind others in the queue of a slow link; when nothing comes any more, it is lost.
TEST_F(WorkerTest, AsksNobodyWhoIsStillAnswering) {
  open();
  worker_.finish(1, 1);
  EXPECT_EQ(sent(), Said{"finish 1 1"});
  for (int i = 0; i < 5; ++i) {
    now_ += seconds(1) / 2;
    hear(Type::committed, 0, 1);
    EXPECT_EQ(sent(), Said{});
  }
  now_ += seconds(1);
  EXPECT_EQ(sent(), Said{"finish 1 1"});
}

TEST_F(WorkerTest, IsMorePatientWithArrays) {
  open();
  worker_.pull(1, 0, 0);
  worker_.init(2, std::string(40, 'x'));
  EXPECT_EQ(sent(), (Said{"pull 0 0", "init 2 0"}));
  now_ += seconds(16) - std::chrono::nanoseconds(1);
  EXPECT_EQ(sent(), Said{});
  now_ += std::chrono::nanoseconds(1);
  EXPECT_EQ(sent(), (Said{"pull 0 0", "init 2 0"}));
}

TEST_F(WorkerTest, SaysEverythingAgainWhenTheConnectionIsLost) {
  open();
  push(0, 1);
  push(1, 1);
  push(2, 1);
  worker_.pull(9, 0, 1);
  sent();
  worker_.lost(0);
  EXPECT_EQ(worker_.bytes_on_the_way(0), 0);
  open();
  EXPECT_EQ(sent(), (Said{"probe 0 1", "probe 1 1", "pull 0 1", "push 2 1"}));
}

TEST_F(WorkerTest, AValueIsPulledOnce) {
  open();
  worker_.pull(9, 0, 0);
  sent();
  hear(Type::value, 0, 3, 9, "12345678");
  hear(Type::value, 0, 3, 9, "12345678");
  ASSERT_EQ(pulled_.size(), 1u);
  EXPECT_EQ(pulled_[0].ticket, 9u);
  EXPECT_EQ(pulled_[0].version, 3u);
}

TEST_F(WorkerTest, TheWindowIsWhatMayBeUncommitted) {
  EXPECT_TRUE(worker_.has_room(0, 1));
  push(0, 1);
  push(0, 2);
  EXPECT_FALSE(worker_.has_room(0, 3));
  EXPECT_TRUE(worker_.has_room(1, 1));
  hear(Type::committed, 0, 1);
  EXPECT_TRUE(worker_.has_room(0, 3));
}

TEST_F(WorkerTest, BoundedPullsAskForLess) {
  Worker worker(plan_, {.consistency = {.staleness = 2}});
  Request request;
  ASSERT_TRUE(worker.send(now_, request));
  Message opened;
  opened.header.type = Type::opened;
  ASSERT_TRUE(worker.receive(0, opened, now_, pulled_).ok());
  for (auto [step, asked] : {std::pair<uint64_t, uint64_t>{1, 0}, {2, 0}, {5, 3}}) {
    worker.pull(step, 0, step);
    ASSERT_TRUE(worker.send(now_, request));
    EXPECT_EQ(request.header.step, asked);
  }
}

TEST_F(WorkerTest, ARefusalEndsIt) {
  hear(Type::refused, 0, 0, 0, "another plan");
  EXPECT_EQ(status_.message(), "another plan");
  EXPECT_EQ(status_.code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(WorkerTest, WhatServersDoNotSayIsAnError) {
  hear(Type::push, 0, 1);
  EXPECT_EQ(status_.message(), "push: workers take no such messages");
}

}  // namespace
}  // namespace mxc::kv
