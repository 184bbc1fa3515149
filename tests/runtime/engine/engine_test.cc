// Hand-written cases, each on the naive engine and on engines with 1, 2 and 4 threads a lane.
#include "runtime/engine/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/runtime/engine/engines.h"

namespace mxc::engine {
namespace {

constexpr auto kLong = std::chrono::seconds(20);  // "never", for what must happen

class EveryEngine : public OnEngine {};
INSTANTIATE_TEST_SUITE_P(Threads, EveryEngine, testing::Values(0, 1, 2, 4));

// Engines whose operations run beside the pushing thread.
class ThreadedEngine : public EveryEngine {};
INSTANTIATE_TEST_SUITE_P(Threads, ThreadedEngine, testing::Values(1, 2, 4));

TEST_P(EveryEngine, WritersRunInTheOrderOfPushing) {
  Variable x = engine_->variable("x");
  std::vector<int> order;  // guarded by being x
  for (int i = 0; i < 100; ++i) {
    // Later ones are more urgent, and on other lanes: order of data comes first.
    Traits traits = {.name = "w", .lane = static_cast<Lane>(i % kLanes), .priority = i};
    engine_->push(traits, {}, {x}, [&order, i] { return order.push_back(i), ok(); });
  }
  ASSERT_TRUE(engine_->wait(x).ok());
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST_P(EveryEngine, ReadersSeeTheLastWriteBeforeThem) {
  Variable x = engine_->variable("x");
  int value = 0;
  std::vector<int> seen(50, -1);
  for (int i = 0; i < 50; ++i) {
    engine_->push({}, {}, {x}, [&value, i] { return value = i, ok(); });
    engine_->push({}, {x}, {engine_->variable("own")}, [&, i] { return seen[static_cast<size_t>(i)] = value, ok(); });
  }
  ASSERT_TRUE(engine_->wait_all().ok());
  for (int i = 0; i < 50; ++i) EXPECT_EQ(seen[static_cast<size_t>(i)], i);
}

TEST_P(ThreadedEngine, ReadersRunTogether) {
  // Each of two readers, on two lanes, ends only when the other has begun.
  Variable x = engine_->variable("x");
  std::promise<void> a, b;
  std::shared_future<void> a_began = a.get_future().share(), b_began = b.get_future().share();
  auto meet = [](std::promise<void>& mine, std::shared_future<void> other) {
    mine.set_value();
    return other.wait_for(kLong) == std::future_status::ready ? ok() : absl::DeadlineExceededError("alone");
  };
  engine_->push({.lane = Lane::compute}, {x}, {}, [&] { return meet(a, b_began); });
  engine_->push({.lane = Lane::io}, {x}, {}, [&] { return meet(b, a_began); });
  EXPECT_TRUE(engine_->wait_all().ok());
}

TEST_P(ThreadedEngine, PushDoesNotWait) {
  Variable x = engine_->variable("x");
  std::promise<void> gate;
  std::shared_future<void> open = gate.get_future().share();
  bool ran = false;
  engine_->push({}, {}, {x}, [&] { return open.wait(), ran = true, ok(); });
  engine_->push({}, {x}, {}, ok);
  EXPECT_FALSE(ran);  // safe to look at: the body waits for the gate
  gate.set_value();
  ASSERT_TRUE(engine_->wait(x).ok());
  EXPECT_TRUE(ran);
}

// With more threads, operations start in an order but run together.
class OneThreadEngine : public EveryEngine {};
INSTANTIATE_TEST_SUITE_P(Threads, OneThreadEngine, testing::Values(0, 1));

TEST_P(OneThreadEngine, UrgentOperationsGoFirst) {
  Variable hold = engine_->variable("hold");
  std::vector<int> order;
  std::promise<void> gate;
  std::shared_future<void> open = gate.get_future().share();
  bool naive = GetParam() == 0;
  if (!naive) engine_->push({}, {}, {hold}, [&] { return open.wait(), ok(); });
  for (int i = 0; i < 6; ++i) engine_->push({.priority = i % 3}, {}, {}, [&order, i] { return order.push_back(i), ok(); });
  gate.set_value();
  ASSERT_TRUE(engine_->wait_all().ok());
  EXPECT_EQ(order, naive ? (std::vector<int>{0, 1, 2, 3, 4, 5}) : (std::vector<int>{2, 5, 1, 4, 0, 3}));
}

TEST_P(EveryEngine, RepeatedNamesCountOnceAndMutatingWins) {
  Variable x = engine_->variable("x"), y = engine_->variable("y");
  int runs = 0;
  for (int i = 0; i < 10; ++i) engine_->push({}, {x, y, x}, {x, x}, [&] { return ++runs, ok(); });
  ASSERT_TRUE(engine_->wait(x).ok());
  EXPECT_EQ(runs, 10);
  EXPECT_TRUE(engine_->wait_idle(y).ok());
}

TEST_P(EveryEngine, ErrorsTravelWithTheData) {
  Variable a = engine_->variable("a"), b = engine_->variable("b"), c = engine_->variable("c"), other = engine_->variable("other");
  bool skipped = true, ran = false;
  engine_->push({.name = "read file"}, {}, {a}, [] { return absl::NotFoundError("no file 'x'"); });
  engine_->push({}, {a}, {b}, [&] { return skipped = false, ok(); });
  engine_->push({}, {}, {b, c}, [&] { return skipped = false, ok(); });
  engine_->push({}, {}, {other}, [&] { return ran = true, ok(); });
  const absl::Status expected = absl::NotFoundError("read file: no file 'x'");  // with the name of the operation that made it
  EXPECT_EQ(engine_->wait(c), expected);
  EXPECT_EQ(engine_->wait(b), expected);
  EXPECT_EQ(engine_->wait(a), expected);
  EXPECT_TRUE(engine_->wait(other).ok());
  EXPECT_TRUE(skipped);
  EXPECT_TRUE(ran);
  EXPECT_EQ(engine_->wait_all(), expected);
  EXPECT_TRUE(engine_->wait_all().ok());  // told once
  // Taking the error off a variable takes it off that one.
  engine_->recover(a);
  engine_->push({}, {}, {a}, [&] { return skipped = false, ok(); });
  EXPECT_TRUE(engine_->wait(a).ok());
  EXPECT_FALSE(skipped);
  EXPECT_FALSE(engine_->wait(c).ok());
}

TEST_P(EveryEngine, ReadingAFailedVariableFailsOnlyWhatIsMutated) {
  Variable a = engine_->variable("a"), b = engine_->variable("b"), c = engine_->variable("c");
  engine_->push({}, {}, {a}, [] { return absl::InternalError("e"); });
  engine_->push({}, {a, b}, {c}, ok);
  EXPECT_FALSE(engine_->wait(c).ok());
  EXPECT_TRUE(engine_->wait(b).ok());
}

TEST_P(EveryEngine, WhatIsWrittenAnewForgetsItsError) {
  Variable a = engine_->variable("a"), b = engine_->variable("b");
  engine_->push({}, {}, {a, b}, [] { return absl::InternalError("lost"); });
  engine_->push({.anew = true}, {}, {a}, ok);
  EXPECT_TRUE(engine_->wait(a).ok());
  // What it reads counts, also if it is written, too.
  engine_->push({.anew = true}, {b}, {a}, ok);
  engine_->push({.anew = true}, {b}, {b}, ok);
  EXPECT_EQ(engine_->wait(a).message(), "lost");
  EXPECT_EQ(engine_->wait(b).message(), "lost");
}

TEST_P(EveryEngine, ErrorsOfAttemptsPass) {
  Variable data = engine_->variable("data"), kept = engine_->variable("kept"), derived = engine_->variable("derived");
  Variable lost = engine_->variable("lost"), both = engine_->variable("both");
  // The attempt takes over an error that is none of its own; what it leaves passes all the same, and so does what others take over from it.
  engine_->push({}, {}, {data, lost}, [] { return absl::InternalError("bad data"); });
  engine_->push_staged({.attempt = true}, {{data, false, 0, 0}, {kept, true, 0, 0}, {lost, true, 0, 0}}, 1, [](uint32_t, uint32_t) { return ok(); });
  engine_->push({}, {kept}, {derived}, ok);
  engine_->push({}, {lost, kept}, {both}, ok);
  EXPECT_EQ(engine_->wait(kept).message(), "bad data");
  EXPECT_EQ(engine_->wait(derived).message(), "bad data");
  // A variable that carried an error before keeps that one, which does not pass, nor does what was taken over from it.
  for (const Variable& v : {kept, derived, lost, both}) engine_->recover(v, Forget::passing);
  EXPECT_TRUE(engine_->wait(kept).ok());
  EXPECT_TRUE(engine_->wait(derived).ok());
  EXPECT_EQ(engine_->wait(lost).message(), "bad data");
  EXPECT_EQ(engine_->wait(both).message(), "bad data");
}

// In program order: who comes before the hold that forgets sees the error, who comes after does not, whenever they run.
TEST_P(EveryEngine, AHoldForgetsInProgramOrder) {
  Variable kept = engine_->variable("kept"), gate = engine_->variable("gate");
  Variable before = engine_->variable("before"), made = engine_->variable("made"), after = engine_->variable("after");
  std::promise<void> open;
  if (GetParam() == 0) open.set_value();
  engine_->push({.lane = Lane::io}, {}, {gate}, [opened = open.get_future().share()] { return opened.wait(), ok(); });
  engine_->push({.name = "try", .attempt = true}, {gate}, {kept}, [] { return absl::InternalError("no"); });
  engine_->push({}, {kept}, {before}, ok);
  std::atomic<int> runs = 0;  // both only read `kept`: they may run at once
  engine_->push_staged({}, {{kept, false, 0, 1, Forget::passing}, {made, true, 1, 1, Forget::everything}}, 2,
                       [&](uint32_t, uint32_t) { return ++runs, ok(); });
  engine_->push({}, {kept}, {after}, [&] { return ++runs, ok(); });
  if (GetParam() != 0) open.set_value();
  EXPECT_EQ(engine_->wait(before).message(), "try: no");
  EXPECT_TRUE(engine_->wait(made).ok());
  EXPECT_TRUE(engine_->wait(after).ok());
  EXPECT_TRUE(engine_->wait(kept).ok());
  EXPECT_EQ(runs, 3);
}

TEST_P(EveryEngine, WhatNobodyHasBeenToldOf) {
  Variable a = engine_->variable("a"), b = engine_->variable("b"), taken = engine_->variable("taken"), c = engine_->variable("c");
  EXPECT_EQ(engine_->untold().operations, 0u);
  engine_->push({.name = "first"}, {}, {a}, [] { return absl::InternalError("x"); });
  engine_->push({.name = "second"}, {}, {b}, [] { return absl::InternalError("y"); });
  engine_->push({.name = "third"}, {}, {c}, [] { return absl::InternalError("z"); });
  engine_->push({}, {a}, {taken}, ok);
  EXPECT_EQ(engine_->untold().operations, 3u);
  EXPECT_EQ(engine_->untold().oldest.message(), "first: x");
  // Who reads what took the error over has been told of it.
  EXPECT_FALSE(engine_->wait(taken).ok());
  EXPECT_EQ(engine_->untold().operations, 2u);
  EXPECT_EQ(engine_->untold().oldest.message(), "second: y");
  EXPECT_FALSE(engine_->wait(b, /*tells=*/false).ok());
  EXPECT_FALSE(engine_->wait_idle(c).ok());
  EXPECT_EQ(engine_->untold().operations, 1u);
  engine_->push({.anew = true}, {}, {b}, ok);  // forgotten, not told
  EXPECT_EQ(engine_->untold().oldest.message(), "second: y");
  EXPECT_FALSE(engine_->wait_all().ok());
  EXPECT_EQ(engine_->untold().operations, 0u);
}

// What is made ahead and fails is no failure until somebody asks for it.
TEST_P(EveryEngine, AnUnaskedFailureCountsWhenSomebodyAsks) {
  Variable a = engine_->variable("a"), b = engine_->variable("b"), taken = engine_->variable("taken");
  engine_->push({.name = "ahead", .unasked = true}, {}, {a, b}, [] { return absl::InternalError("x"); });
  engine_->push({}, {a}, {taken}, ok);
  EXPECT_EQ(engine_->untold().operations, 0u);
  EXPECT_TRUE(engine_->wait_all().ok());
  EXPECT_EQ(engine_->wait(taken, /*tells=*/false).message(), "ahead: x");  // the error is there all the same
  engine_->ask(a);
  EXPECT_EQ(engine_->untold().operations, 1u);
  EXPECT_EQ(engine_->untold().oldest.message(), "ahead: x");
  EXPECT_EQ(engine_->wait(taken).message(), "ahead: x");
  EXPECT_EQ(engine_->untold().operations, 0u);
  EXPECT_EQ(engine_->wait_all().message(), "ahead: x");
  // Who waits after the question has been told, whether or not the question's turn had come.
  engine_->ask(b);
  EXPECT_EQ(engine_->wait(b).message(), "ahead: x");
  EXPECT_EQ(engine_->untold().operations, 0u);
  // What went well is no failure.
  engine_->push({.unasked = true}, {}, {engine_->variable("c")}, ok);
  Variable c = engine_->variable("c");
  engine_->push({.unasked = true}, {}, {c}, ok);
  engine_->ask(c);
  EXPECT_EQ(engine_->untold().operations, 0u);
}

TEST_P(EveryEngine, WaitAllTellsTheOldestError) {
  for (int i = 0; i < 8; ++i) {
    engine_->push({.lane = static_cast<Lane>(3 - i % 4)}, {}, {engine_->variable("v")},
                  [i] { return absl::InternalError(std::to_string(i)); });
  }
  EXPECT_EQ(engine_->wait_all().message(), "0");
}

TEST_P(EveryEngine, ExceptionsBecomeErrors) {
  Variable x = engine_->variable("x"), y = engine_->variable("y");
  engine_->push({.name = "boom"}, {}, {x}, []() -> absl::Status { throw std::runtime_error("bang"); });
  engine_->push({.name = "odd"}, {}, {y}, []() -> absl::Status { throw 7; });
  EXPECT_EQ(engine_->wait(x), absl::InternalError("boom: bang"));
  EXPECT_EQ(engine_->wait(y), absl::InternalError("odd: threw something that is no std::exception"));
}

TEST_P(EveryEngine, DroppedVariablesLiveWhileOperationsNameThem) {
  // The only handles go while the operations are queued behind a gate (where there is a thread to close one).
  std::promise<void> gate;
  std::shared_future<void> open = gate.get_future().share();
  if (GetParam() == 0) gate.set_value();
  std::vector<int> order;
  {
    Variable x = engine_->variable("x");
    for (int i = 0; i < 50; ++i) {
      Variable own = engine_->variable("own");
      engine_->push({}, {own}, {x}, [&order, open, i] { return open.wait(), order.push_back(i), ok(); });
    }
  }
  if (GetParam() != 0) gate.set_value();
  ASSERT_TRUE(engine_->wait_all().ok());
  ASSERT_EQ(order.size(), 50u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_P(EveryEngine, HandlesMayOutliveTheEngine) {
  Variable x = engine_->variable("x"), copy = x;
  engine_->push({}, {}, {x}, ok);
  engine_.reset();
  EXPECT_TRUE(copy == x);
  x = Variable();
  EXPECT_FALSE(x);
  EXPECT_TRUE(copy);
}

TEST_P(EveryEngine, AsynchronousOperationsEndWithTheirCompletion) {
  Variable x = engine_->variable("x");
  int value = 0;
  std::vector<std::thread> network;
  for (int i = 1; i <= 20; ++i) {
    engine_->push_async({.lane = Lane::network}, {}, {x}, [&, i](Completion done) {
      network.emplace_back([&value, i, done = std::move(done)]() mutable {
        value = value * 2 + i;
        done(ok());
      });
    });
  }
  int seen = -1;
  engine_->push({}, {x}, {}, [&] { return seen = value, ok(); });
  ASSERT_TRUE(engine_->wait_all().ok());
  int expected = 0;
  for (int i = 1; i <= 20; ++i) expected = expected * 2 + i;
  EXPECT_EQ(seen, expected);
  for (std::thread& thread : network) thread.join();
}

TEST_P(EveryEngine, AsynchronousErrorsAndDroppedCompletions) {
  Variable x = engine_->variable("x"), y = engine_->variable("y"), z = engine_->variable("z");
  engine_->push_async({}, {}, {x}, [](Completion done) { done(absl::UnavailableError("host down")); });
  engine_->push_async({}, {}, {y}, [](Completion) {});
  engine_->push_async({}, {x}, {z}, [](Completion done) { done(ok()); });
  EXPECT_EQ(engine_->wait(x), absl::UnavailableError("host down"));
  EXPECT_EQ(engine_->wait(y).message(), "an asynchronous operation was dropped without completion");
  EXPECT_EQ(engine_->wait(z), absl::UnavailableError("host down"));
}

TEST_P(EveryEngine, BodiesMayPushButNotWait) {
  Variable x = engine_->variable("x"), y = engine_->variable("y");
  absl::Status waited;
  int value = 0;
  engine_->push({}, {}, {x}, [&] {
    engine_->push({}, {x}, {y}, [&] { return value = 5, ok(); });
    waited = engine_->wait(y);
    return ok();
  });
  ASSERT_TRUE(engine_->wait(x).ok());
  ASSERT_TRUE(engine_->wait(y).ok());
  EXPECT_EQ(waited.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(value, 5);
}

TEST_P(EveryEngine, SeveralThreadsPushAtOnce) {
  Variable x = engine_->variable("x");
  int sum = 0;  // guarded by being x
  std::vector<std::thread> pushers;
  for (int t = 0; t < 4; ++t) {
    pushers.emplace_back([&] {
      for (int i = 1; i <= 500; ++i) {
        engine_->push({.cheap = i % 2 == 0}, {}, {x}, [&sum, i] { return sum += i, ok(); });
        if (i % 50 == 0) EXPECT_TRUE(engine_->wait(x).ok());
      }
    });
  }
  for (std::thread& pusher : pushers) pusher.join();
  ASSERT_TRUE(engine_->wait(x).ok());
  EXPECT_EQ(sum, 4 * 500 * 501 / 2);
}

TEST_P(ThreadedEngine, RunAheadIsBounded) {
  std::unique_ptr<Engine> engine = make_engine(GetParam(), 8);
  std::promise<void> gate;
  std::shared_future<void> open = gate.get_future().share();
  std::atomic<int> pushed = 0;
  Variable x = engine->variable("x");
  std::thread pusher([&] {
    for (int i = 0; i < 30; ++i) {
      engine->push({}, {}, {x}, [&] { return open.wait(), ok(); });
      ++pushed;
    }
  });
  while (pushed < 8) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(pushed, 8);
  gate.set_value();
  pusher.join();
  EXPECT_TRUE(engine->wait_all().ok());
}

TEST_P(EveryEngine, CapturedStateIsGoneBeforeWaitReturns) {
  Variable x = engine_->variable("x");
  std::weak_ptr<int> watched;
  for (bool failing : {false, true}) {
    auto state = std::make_shared<int>(1);
    watched = state;
    if (failing) engine_->push({}, {}, {x}, [] { return absl::InternalError("e"); });
    engine_->push({}, {}, {x}, [state] { return ok(); });
    state.reset();
    EXPECT_EQ(engine_->wait(x).ok(), !failing);
    EXPECT_TRUE(watched.expired());
  }
}

TEST_P(EveryEngine, StagedOperationsReleaseAsTheyGo) {
  // Items: 0 writes a, 1 reads in, 2 writes b. The reader of `a` runs between items when there is a thread; order is what counts.
  Variable a = engine_->variable("a"), b = engine_->variable("b"), input = engine_->variable("in");
  std::vector<std::string> log;
  std::mutex mutex;
  auto note = [&](std::string line) {
    std::lock_guard<std::mutex> lock(mutex);
    log.push_back(std::move(line));
    return ok();
  };
  std::vector<uint32_t> ends;
  engine_->push_staged({.name = "graph"}, {{a, true, 0, 0}, {input, false, 1, 1}, {b, true, 2, 2}}, 4,
                       [&](uint32_t first, uint32_t end) {
                         ends.push_back(end);
                         return note(std::to_string(first));
                       });
  engine_->push({}, {b}, {}, [&] { return note("b"); });
  ASSERT_TRUE(engine_->wait_all().ok());
  EXPECT_EQ(ends, (std::vector<uint32_t>{1, 2, 3, 4}));
  auto at = [&](const std::string& line) { return std::find(log.begin(), log.end(), line) - log.begin(); };
  EXPECT_LT(at("2"), at("b"));
}

TEST(StagedOperation, WhatItHandsOnRunsNextIfNoOtherThreadCouldRunIt) {
  std::unique_ptr<Engine> engine = make_engine(1);
  Variable start = engine->variable("start"), a = engine->variable("a"), b = engine->variable("b");
  std::vector<std::string> log;  // of the lane's one thread
  auto note = [&](std::string line) { return log.push_back(std::move(line)), ok(); };
  std::promise<void> gate;
  engine->push({.lane = Lane::io}, {}, {start}, [open = gate.get_future().share()] { return open.wait(), ok(); });
  engine->push_staged({}, {{start, false, 0, 0}, {a, true, 0, 0}, {b, true, 0, 1}}, 3,
                      [&](uint32_t first, uint32_t) { return note("item " + std::to_string(first)); });
  engine->push({.priority = -1}, {a}, {}, [&] { return note("less urgent, reads a"); });
  engine->push({}, {b}, {}, [&] { return note("reads b"); });
  engine->push({}, {a}, {}, [&] { return note("reads a"); });
  gate.set_value();
  ASSERT_TRUE(engine->wait_all().ok());
  EXPECT_EQ(log, (std::vector<std::string>{"item 0", "reads a", "item 1", "reads b", "item 2", "less urgent, reads a"}));
}

TEST_P(ThreadedEngine, AStagedOperationWaitsForAnInputWithoutHoldingItsThread) {
  // The input's producer is pushed first but ends last; with one thread a lane, it needs the thread that the graph leaves.
  Variable input = engine_->variable("in"), a = engine_->variable("a");
  std::promise<void> first_item;
  std::shared_future<void> first_item_ran = first_item.get_future().share();
  std::vector<int> log;
  Variable start = engine_->variable("start");
  std::promise<void> gate;
  std::shared_future<void> open = gate.get_future().share();
  engine_->push({.lane = Lane::io}, {}, {start}, [&] { return open.wait(), ok(); });
  engine_->push({.lane = Lane::compute}, {start}, {input}, [&] {
    bool ran = first_item_ran.wait_for(kLong) == std::future_status::ready;
    log.push_back(1);
    return ran ? ok() : absl::DeadlineExceededError("the graph waited for its last input before it started");
  });
  engine_->push_staged({.priority = 5}, {{a, true, 0, 0}, {input, false, 1, 1}}, 2, [&](uint32_t first, uint32_t) {
    if (first == 0) {
      first_item.set_value();
      gate.set_value();
    } else {
      log.push_back(2);
    }
    return ok();
  });
  EXPECT_TRUE(engine_->wait_all().ok());
  EXPECT_EQ(log, (std::vector<int>{1, 2}));
}

TEST_P(EveryEngine, AFailingStageKeepsWhatWasReleased) {
  Variable a = engine_->variable("a"), b = engine_->variable("b"), c = engine_->variable("c"), d = engine_->variable("d");
  uint32_t last_item = 0;
  engine_->push_staged({}, {{a, true, 0, 0}, {b, true, 0, 2}, {c, true, 2, 3}, {d, false, 3, 3}}, 4,
                       [&](uint32_t first, uint32_t) {
                         last_item = first;
                         return first == 1 ? absl::InternalError("item 1") : ok();
                       });
  EXPECT_TRUE(engine_->wait(a).ok());
  EXPECT_EQ(engine_->wait(b).message(), "item 1");
  EXPECT_EQ(engine_->wait(c).message(), "item 1");
  EXPECT_TRUE(engine_->wait(d).ok());
  EXPECT_EQ(last_item, 1u);
}

TEST_P(EveryEngine, ALateFailedInputStopsTheRest) {
  Variable a = engine_->variable("a"), b = engine_->variable("b"), input = engine_->variable("in");
  engine_->push({}, {}, {input}, [] { return absl::DataLossError("bad record"); });
  int calls = 0;
  engine_->push_staged({}, {{a, true, 0, 0}, {input, false, 1, 1}, {b, true, 1, 1}}, 2,
                       [&](uint32_t, uint32_t) { return ++calls, ok(); });
  EXPECT_TRUE(engine_->wait(a).ok());
  EXPECT_EQ(engine_->wait(b), absl::DataLossError("bad record"));
  EXPECT_EQ(calls, 1);
}

TEST(Engine, RefusesWrongOptions) {
  Engine::Options options;
  options.threads[2] = 0;
  EXPECT_EQ(Engine::create(options).status().message(), "engine: a lane needs 1 to 256 threads");
  options = {};
  options.run_ahead = 0;
  EXPECT_EQ(Engine::create(options).status().message(), "engine: run_ahead is 0");
}

TEST(Engine, TheDestructorWaits) {
  int runs = 0;
  {
    std::unique_ptr<Engine> engine = make_engine(2);
    Variable x = engine->variable("x");
    for (int i = 0; i < 100; ++i) engine->push({}, {}, {x}, [&] { return ++runs, ok(); });
  }
  EXPECT_EQ(runs, 100);
}

}  // namespace
}  // namespace mxc::engine
