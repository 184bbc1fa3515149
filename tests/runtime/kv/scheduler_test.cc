// Who is in a job, who is gone, and what everybody is told. And a member's side of it.
#include "runtime/kv/scheduler.h"

#include <gtest/gtest.h>

#include <functional>

#include "runtime/kv/member.h"

namespace mxc::kv {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Said = std::vector<std::string>;

class SchedulerTest : public testing::Test {
 protected:
  explicit SchedulerTest(const SchedulerOptions& options = {.members = 2}) : scheduler_(options, now_) {}

  Said say(uint32_t rank, Type type, uint64_t step = 0, const std::string& text = "", uint64_t incarnation = 1) {
    Message message;
    message.header = {type, 0, 0, rank, incarnation, 0, 0, step, 0, 0};
    return say(message, text);
  }
  Said say(Message message, const std::string& text) {
    message.payload = text;
    std::vector<Notice> notices;
    status_ = scheduler_.receive(message, now_, notices);
    return written(notices);
  }
  // A heartbeat.
  Said live(uint32_t rank, uint64_t moves, bool waits, const std::string& last = "") {
    Message message;
    message.header = {Type::heartbeat, 0, 0, rank, 1, 0, 0, 4, moves, waits ? 1u : 0u};
    return say(message, last);
  }
  // Both live for some time, as said.
  Said live_for(Duration time, const std::function<void()>& both) {
    Said said;
    for (Duration passed{}; passed < time && said.empty(); passed += milliseconds(500)) {
      both();
      said = tick(milliseconds(500));
    }
    return said;
  }
  static Said written(const std::vector<Notice>& notices) {
    Said said;
    for (const Notice& notice : notices)
      said.push_back(std::to_string(notice.rank) + " " + name_of(notice.header.type) +
                     (notice.text.empty() ? "" : " " + notice.text));
    return said;
  }
  Said tick(Duration passed) {
    now_ += passed;
    std::vector<Notice> notices;
    scheduler_.tick(now_, notices);
    return written(notices);
  }
  void join_all() {
    EXPECT_EQ(say(0, Type::join, 0, "host a, process 1"), Said{"0 welcome"});
    EXPECT_EQ(say(1, Type::join, 0, "host b, process 2"), Said{"1 welcome"});
  }

  Time now_ = seconds(50);
  Scheduler scheduler_;
  absl::Status status_;
};

TEST_F(SchedulerTest, TellsNoMoreThanAMessageHolds) {
  join_all();
  const std::string half(kMostText / 2, 'x');
  say(0, Type::sealed, 77, half);
  const std::string why = "where 2 members are takes " + std::to_string(kMostText + 1) + " bytes to tell, of at most " + std::to_string(kMostText) + ": start fewer";
  EXPECT_EQ(say(1, Type::sealed, 77, half), (Said{"0 abort " + why, "1 abort " + why}));
}

TEST_F(SchedulerTest, TellsWhereServersAreWhenItKnowsAll) {
  join_all();
  EXPECT_EQ(say(1, Type::sealed, 77, "there"), Said{});
  EXPECT_EQ(say(0, Type::sealed, 77, "here"), (Said{"0 peers here\nthere", "1 peers here\nthere"}));
  EXPECT_EQ(say(1, Type::sealed, 77, "there"), Said{"1 peers here\nthere"});  // it has not heard
}

TEST_F(SchedulerTest, RefusesAnotherPlan) {
  join_all();
  say(0, Type::sealed, 0xab, "here");
  const std::string why =
      "the plans of rank 0 (host a, process 1) and rank 1 (host b, process 2) differ (00000000000000ab and 00000000000000cd): "
      "another build, or other keys, shapes or shards";
  EXPECT_EQ(say(1, Type::sealed, 0xcd, "there"), (Said{"0 abort " + why, "1 abort " + why}));
  EXPECT_TRUE(scheduler_.is_over());
}

TEST_F(SchedulerTest, NamesWhoIsGone) {
  join_all();
  say(1, Type::heartbeat, 41);
  std::vector<Notice> notices;
  scheduler_.lost(1, /*incarnation=*/2, notices);  // of no member
  EXPECT_EQ(written(notices), Said{});
  scheduler_.lost(1, 1, notices);
  const std::string why = "rank 1 (host b, process 2) is gone: its connection has ended; the last step that it began was 41";
  EXPECT_EQ(written(notices), (Said{"0 abort " + why, "1 abort " + why}));
  EXPECT_EQ(scheduler_.failure(), why);
  EXPECT_EQ(say(0, Type::heartbeat), Said{"0 abort " + why});
}

TEST_F(SchedulerTest, ASilentMemberIsGone) {
  join_all();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(say(0, Type::heartbeat, 3), Said{"0 alive"});
    EXPECT_EQ(say(1, Type::heartbeat, 3), Said{"1 alive"});
    EXPECT_EQ(tick(milliseconds(500)), Said{});
  }
  for (int i = 0; i < 3; ++i) {
    say(0, Type::heartbeat, 4);
    EXPECT_EQ(tick(milliseconds(500)), Said{});
  }
  say(0, Type::heartbeat, 4);
  EXPECT_EQ(tick(milliseconds(501))[0], "0 abort rank 1 (host b, process 2) does not answer; the last step that it began was 3");
}

// A program on a lock, say; the process says that it lives.
TEST_F(SchedulerTest, AProgramThatStandsStillIsGone) {
  join_all();
  uint64_t moves = 0;
  // Both go on; one waits for the other, which goes on; nobody waits.
  EXPECT_EQ(live_for(seconds(100), [&] { live(0, ++moves, false), live(1, moves, true); }), Said{});
  EXPECT_EQ(live_for(seconds(100), [&] { live(0, 0, true), live(1, ++moves, false); }), Said{});
  EXPECT_EQ(live_for(seconds(100), [&] { live(0, 0, false), live(1, 0, false); }), Said{});
  // One does not go on while the other, which waits, does something.
  EXPECT_EQ(live_for(seconds(100), [&] { live(0, ++moves, true), live(1, 0, false); }), Said{});
  // All wait, for the network perhaps.
  EXPECT_EQ(live_for(seconds(100), [&] { live(0, 0, true), live(1, 0, true); }), Said{});
  EXPECT_EQ(live_for(seconds(30), [&] { live(0, 0, true), live(1, 0, false, "a push of 'w'"); }), Said{});
  const Said told = live_for(seconds(1), [&] { live(0, 0, true), live(1, 0, false, "a push of 'w'"); });
  const std::string why =
      "rank 1 (host b, process 2) stands still: others wait for it, and it has done nothing for 30 s; the last that was seen of it is a push of 'w'; the last "
      "step that it began was 4";
  EXPECT_EQ(told, (Said{"0 abort " + why, "1 abort " + why}));
}

TEST_F(SchedulerTest, AProgramThatNeverBegan) {
  join_all();
  const Said told = live_for(seconds(40), [&] { live(0, 0, false), live(1, 0, true); });
  ASSERT_EQ(told.size(), 2u);
  EXPECT_NE(told[0].find("rank 0 (host a, process 1) stands still: "), std::string::npos);
  EXPECT_NE(told[0].find("the last that was seen of it is its joining; "), std::string::npos);
}

TEST_F(SchedulerTest, WhoHasLeftMayStandStill) {
  join_all();
  say(1, Type::leave);
  EXPECT_EQ(live_for(seconds(100), [&] { live(0, 0, true), live(1, 0, false); }), Said{});
}

class PatientSchedulerTest : public SchedulerTest {
 protected:
  PatientSchedulerTest() : SchedulerTest({.members = 2, .patience = seconds(0)}) {}
};

TEST_F(PatientSchedulerTest, WaitsForEver) {
  join_all();
  EXPECT_EQ(live_for(seconds(1000), [&] { live(0, 0, true), live(1, 0, false); }), Said{});
}

// Its own process stood still: what members said meanwhile has not been looked at yet.
TEST_F(SchedulerTest, TimeInWhichItDidNotRunDoesNotCount) {
  join_all();
  EXPECT_EQ(tick(seconds(20)), Said{});
  EXPECT_EQ(say(0, Type::heartbeat), Said{"0 alive"});
  EXPECT_EQ(tick(seconds(1)), Said{});
  EXPECT_EQ(tick(seconds(1)), Said{});
  EXPECT_EQ(tick(milliseconds(1)).size(), 2u);
}

TEST_F(SchedulerTest, AMemberThatNeverComes) {
  say(0, Type::join, 0, "host a, process 1");
  for (int i = 0; i < 60; ++i) {
    EXPECT_EQ(tick(seconds(1)), Said{});
    say(0, Type::heartbeat);
  }
  EXPECT_EQ(tick(milliseconds(1))[0], "0 abort rank 1 has not come within 60 s");
}

TEST_F(SchedulerTest, TwoProcessesOfOneRank) {
  join_all();
  EXPECT_EQ(say(1, Type::join, 0, "host c, process 3", 2)[0],
            "0 abort two processes say that they are rank 1: host b, process 2 and host c, process 3");
}

TEST_F(SchedulerTest, BarriersArePassedTogether) {
  join_all();
  EXPECT_EQ(say(0, Type::barrier, 1), Said{});
  EXPECT_EQ(say(0, Type::barrier, 1), Said{});
  EXPECT_EQ(say(1, Type::barrier, 1), (Said{"0 barrier passed", "1 barrier passed"}));
  EXPECT_EQ(say(0, Type::barrier, 1), Said{"0 barrier passed"});
  EXPECT_EQ(say(0, Type::barrier, 2), Said{});
  EXPECT_EQ(say(1, Type::leave), (Said{"0 barrier passed", "1 barrier passed"}));  // it is not waited for
}

TEST_F(SchedulerTest, ServersEndWhenAllHaveLeft) {
  join_all();
  EXPECT_EQ(say(0, Type::leave), Said{});
  EXPECT_FALSE(scheduler_.is_over());
  EXPECT_EQ(say(1, Type::leave), (Said{"0 farewell", "1 farewell"}));
  EXPECT_TRUE(scheduler_.is_over());
  EXPECT_EQ(say(0, Type::leave), Said{"0 farewell"});
  std::vector<Notice> notices;
  scheduler_.lost(0, 1, notices);
  EXPECT_EQ(written(notices), Said{});
  EXPECT_EQ(scheduler_.failure(), "");
}

TEST_F(SchedulerTest, AMemberMayEndTheJob) {
  join_all();
  EXPECT_EQ(say(1, Type::abort, 0, "no more")[0], "0 abort rank 1 (host b, process 2): no more");
}

TEST_F(SchedulerTest, StrangersAreRefused) {
  say(0, Type::heartbeat);
  EXPECT_EQ(status_.message(), "its sender has not joined");
  join_all();
  say(0, Type::heartbeat, 0, "", 9);
  EXPECT_EQ(status_.message(), "its sender has not joined");
  say(0, Type::push);
  EXPECT_EQ(status_.message(), "push: schedulers take no such messages");
  say(2, Type::join);
  EXPECT_EQ(status_.message(), "its sender is no member");
}

class WaitingSchedulerTest : public SchedulerTest {
 protected:
  WaitingSchedulerTest() : SchedulerTest({.members = 2, .waits = true}) {}
  Said lose(uint32_t rank, uint64_t incarnation) {
    std::vector<Notice> notices;
    scheduler_.lost(rank, incarnation, notices);
    return written(notices);
  }
};

TEST_F(WaitingSchedulerTest, AnotherProcessTakesThePlaceOfOneThatIsGone) {
  join_all();
  say(0, Type::sealed, 77, "here");
  say(1, Type::sealed, 77, "there");
  EXPECT_EQ(say(0, Type::barrier, 1), Said{});
  EXPECT_EQ(say(1, Type::barrier, 1), (Said{"0 barrier passed", "1 barrier passed"}));
  EXPECT_EQ(lose(1, 1), Said{});
  EXPECT_EQ(say(1, Type::join, 0, "host b, process 3", 2), Said{"1 welcome"});
  EXPECT_EQ(say(1, Type::sealed, 77, "elsewhere", 2), (Said{"0 peers here\nelsewhere", "1 peers here\nelsewhere"}));
  EXPECT_EQ(say(1, Type::barrier, 1, "", 2), Said{"1 barrier passed"});  // its program begins anew
  EXPECT_EQ(say(0, Type::barrier, 2), Said{});
  EXPECT_EQ(say(1, Type::barrier, 2, "", 2), (Said{"0 barrier passed", "1 barrier passed"}));
  say(1, Type::heartbeat, 5);  // the one before
  EXPECT_EQ(status_.message(), "its sender has not joined");
}

// The new process may have come before it is known that the old one has gone.
TEST_F(WaitingSchedulerTest, TheEndOfAnOldConnectionIsNotTheNewOnes) {
  join_all();
  EXPECT_EQ(say(1, Type::join, 0, "host b, process 3", 2), Said{"1 welcome"});
  EXPECT_EQ(lose(1, 1), Said{});
  for (int i = 0; i < 70; ++i) {
    say(0, Type::heartbeat);
    say(1, Type::heartbeat, 0, "", 2);
    EXPECT_EQ(tick(seconds(1)), Said{});
  }
}

TEST_F(WaitingSchedulerTest, ItWaitsAMinute) {
  join_all();
  say(1, Type::heartbeat, 41);
  lose(1, 1);
  for (int i = 0; i < 60; ++i) {
    say(0, Type::heartbeat, 42);
    EXPECT_EQ(tick(seconds(1)), Said{});
  }
  EXPECT_EQ(tick(milliseconds(1))[0],
            "0 abort rank 1 (host b, process 2) is gone: its connection has ended, and no other process has come in its place within 60 s; the last step "
            "that it began was 41");
}

TEST_F(WaitingSchedulerTest, ASilentMemberIsWaitedForToo) {
  join_all();
  for (int i = 0; i < 60; ++i) {
    say(0, Type::heartbeat, 42);
    EXPECT_EQ(tick(seconds(1)), Said{});
  }
  EXPECT_EQ(tick(milliseconds(1))[0], "0 abort rank 1 (host b, process 2) does not answer; the last step that it began was 0");
}

TEST_F(WaitingSchedulerTest, WhoHasLeftAndComesBackIsWaitedFor) {
  join_all();
  EXPECT_EQ(say(1, Type::leave), Said{});
  lose(1, 1);
  say(1, Type::join, 0, "host b, process 3", 2);
  EXPECT_EQ(say(0, Type::leave), Said{});
  EXPECT_EQ(say(1, Type::leave, 0, "", 2), (Said{"0 farewell", "1 farewell"}));
}

// One that has taken the place of another: members tell what they have passed.
TEST_F(WaitingSchedulerTest, LearnsOfBarriersFromWhoJoinsAgain) {
  EXPECT_EQ(say(0, Type::join, 3, "host a, process 1"), Said{"0 welcome"});
  EXPECT_EQ(say(1, Type::join, 2, "host b, process 2"), Said{"1 welcome"});
  EXPECT_EQ(say(1, Type::barrier, 3), Said{"1 barrier passed"});
  EXPECT_EQ(say(1, Type::barrier, 4), Said{});
}

class MemberTest : public testing::Test {
 protected:
  explicit MemberTest(const MemberOptions& options = {.who = "me", .scheduler = "tcp://there"}) : member_(options, now_) {}

  Said sent() {
    Said said;
    Header header;
    std::string text;
    while (member_.send(now_, header, text))
      said.push_back(std::string(name_of(header.type)) + " " + std::to_string(header.step) + (text.empty() ? "" : " " + text));
    return said;
  }
  std::vector<News> hear(Type type, uint64_t step = 0, const std::string& text = "") {
    Message message;
    message.header = {type, 0, 0, kScheduler, 0, 0, 0, step, 0, 0};
    message.payload = text;
    std::vector<News> news;
    member_.receive(message, now_, news);
    return news;
  }
  std::vector<News> tick(Duration passed) {
    now_ += passed;
    std::vector<News> news;
    member_.tick(now_, news);
    return news;
  }

  Time now_ = seconds(50);
  Member member_;
};

TEST_F(MemberTest, SaysAgainWhatIsNotAnswered) {
  EXPECT_EQ(sent(), Said{"join 0 me"});
  EXPECT_EQ(sent(), Said{});
  now_ += milliseconds(500);
  EXPECT_EQ(sent(), Said{"join 0 me"});
  hear(Type::welcome);
  member_.seal(5, "here");
  member_.progress({.step = 9});
  EXPECT_EQ(sent(), (Said{"sealed 5 here", "heartbeat 9"}));
  EXPECT_EQ(sent(), Said{});
  now_ += milliseconds(500);
  EXPECT_EQ(sent(), (Said{"sealed 5 here", "heartbeat 9"}));
  const std::vector<News> news = hear(Type::peers, 0, "here\nthere");
  ASSERT_EQ(news.size(), 1u);
  EXPECT_EQ(news[0].addresses, (Said{"here", "there"}));
  EXPECT_EQ(hear(Type::peers, 0, "here\nthere").size(), 0u);
  EXPECT_EQ(hear(Type::peers, 0, "here\nelsewhere").size(), 1u);  // one has come back
  now_ += milliseconds(500);
  EXPECT_EQ(sent(), Said{"heartbeat 9"});
}

TEST_F(MemberTest, SaysHowFarItsProgramIs) {
  sent();
  hear(Type::welcome);
  member_.progress({3, 8, true, "a pull of 'w'"});
  now_ += milliseconds(500);
  Header header;
  std::string text;
  ASSERT_TRUE(member_.send(now_, header, text));
  EXPECT_EQ(header, (Header{.type = Type::heartbeat, .step = 3, .sequence = 8, .weight = 1}));
  EXPECT_EQ(text, "a pull of 'w'");
}

TEST_F(MemberTest, ASchedulerThatIsSilentIsGone) {
  sent();
  hear(Type::welcome);
  EXPECT_EQ(tick(seconds(20)).size(), 0u);  // the member itself did not run
  for (int i = 0; i < 4; ++i) EXPECT_EQ(tick(milliseconds(500)).size(), 0u);
  const std::vector<News> news = tick(milliseconds(1));
  ASSERT_EQ(news.size(), 1u);
  EXPECT_EQ(news[0].why, "the scheduler at tcp://there is gone");
}

TEST_F(MemberTest, ASchedulerWhoseConnectionEndsIsGone) {
  std::vector<News> news;
  member_.lost(news);  // it was not there yet
  EXPECT_EQ(news.size(), 0u);
  hear(Type::welcome);
  member_.lost(news);
  ASSERT_EQ(news.size(), 1u);
  EXPECT_EQ(news[0].why, "the scheduler at tcp://there is gone");
}

class WaitingMemberTest : public MemberTest {
 protected:
  WaitingMemberTest() : MemberTest({.who = "me", .scheduler = "tcp://there", .waits = true}) {}
};

TEST_F(WaitingMemberTest, TellsASchedulerThatComesBackWhereItIs) {
  sent();
  hear(Type::welcome);
  member_.seal(5, "here");
  sent();
  hear(Type::peers, 0, "here\nthere");
  member_.meet(1);
  sent();
  hear(Type::barrier_passed, 1);
  member_.meet(2);
  EXPECT_EQ(sent(), Said{"barrier 2"});
  std::vector<News> news;
  member_.lost(news);
  EXPECT_EQ(news.size(), 0u);
  EXPECT_EQ(sent(), (Said{"join 1 me", "sealed 5 here", "barrier 2"}));
  hear(Type::welcome);
  EXPECT_EQ(hear(Type::peers, 0, "here\nthere").size(), 0u);  // they are where they were
  now_ += milliseconds(500);
  EXPECT_EQ(sent(), (Said{"barrier 2", "heartbeat 0"}));
}

TEST_F(WaitingMemberTest, WaitsAMinuteForAScheduler) {
  sent();
  hear(Type::welcome);
  for (int i = 0; i < 61; ++i) EXPECT_EQ(tick(seconds(1)).size(), 0u) << i;
  EXPECT_EQ(sent()[0], "join 0 me");
  const std::vector<News> news = tick(seconds(3));
  ASSERT_EQ(news.size(), 1u);
  EXPECT_EQ(news[0].why, "no scheduler has answered at tcp://there for 60 s");
}

TEST_F(MemberTest, ASchedulerThatNeverAnswers) {
  EXPECT_EQ(tick(seconds(60)).size(), 0u);
  const std::vector<News> news = tick(milliseconds(1));
  ASSERT_EQ(news.size(), 1u);
  EXPECT_EQ(news[0].why, "no scheduler has answered at tcp://there for 60 s");
}

TEST_F(MemberTest, HearsOfBarriersOnce) {
  hear(Type::welcome);
  member_.meet(1);
  EXPECT_EQ(hear(Type::barrier_passed, 1).size(), 1u);
  EXPECT_EQ(hear(Type::barrier_passed, 1).size(), 0u);
}

TEST_F(MemberTest, TheEndIsToldOnce) {
  const std::vector<News> news = hear(Type::abort, 0, "somebody is gone");
  ASSERT_EQ(news.size(), 1u);
  EXPECT_EQ(news[0].why, "somebody is gone");
  EXPECT_EQ(hear(Type::abort, 0, "somebody is gone").size(), 0u);
}

}  // namespace
}  // namespace mxc::kv
