// Cheap operations may run where they are pushed and several at once, and yet in order of data, with errors and priorities as all others.
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <thread>
#include <vector>

#include "tests/runtime/engine/engines.h"

namespace mxc::engine {
namespace {

class Cheap : public OnEngine {
 protected:
  // A lane that is busy until the gate opens.
  void close(Lane lane, Variables mutates = {}) {
    std::promise<void> began;
    std::shared_future<void> open = gate_.get_future().share();
    engine_->push({.name = "gate", .lane = lane}, {}, mutates, [&began, open] { return began.set_value(), open.wait(), ok(); });
    began.get_future().wait();
  }
  void open() { gate_.set_value(); }

 private:
  std::promise<void> gate_;
};
INSTANTIATE_TEST_SUITE_P(Threads, Cheap, testing::Values(0, 1, 2, 4));
class CheapThreaded : public Cheap {};
INSTANTIATE_TEST_SUITE_P(Threads, CheapThreaded, testing::Values(1, 2, 4));
class CheapOneThread : public Cheap {};
INSTANTIATE_TEST_SUITE_P(Threads, CheapOneThread, testing::Values(1));

TEST_P(Cheap, RunsInThePushWhenNothingIsInItsWay) {
  Variable x = engine_->variable("x");
  std::thread::id ran_on;
  engine_->push({.cheap = true}, {}, {x}, [&] { return ran_on = std::this_thread::get_id(), ok(); });
  EXPECT_EQ(ran_on, std::this_thread::get_id());
  EXPECT_TRUE(engine_->wait(x).ok());
}

TEST_P(CheapThreaded, WaitsForItsData) {
  // The lane is idle, but the data are another lane's.
  Variable x = engine_->variable("x"), y = engine_->variable("y");
  close(Lane::io, {x});
  bool ran = false;
  engine_->push({.cheap = true}, {x}, {y}, [&] { return ran = true, ok(); });
  EXPECT_FALSE(ran);  // safe to look at: the gate is closed
  open();
  ASSERT_TRUE(engine_->wait(y).ok());
  EXPECT_TRUE(ran);
}

TEST_P(CheapThreaded, WaitsForItsLane) {
  Variable x = engine_->variable("x");
  close(Lane::compute);
  std::vector<int> order;
  std::thread::id ran_on;
  for (int i = 0; i < 100; ++i) {
    engine_->push({.cheap = i % 3 != 0}, {}, {x}, [&, i] { return ran_on = std::this_thread::get_id(), order.push_back(i), ok(); });
  }
  open();
  ASSERT_TRUE(engine_->wait(x).ok());
  EXPECT_NE(ran_on, std::this_thread::get_id());
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST_P(CheapOneThread, UrgentOnesGoFirst) {
  close(Lane::compute);
  std::vector<int> order;
  for (int i = 0; i < 60; ++i)
    engine_->push({.priority = i % 3, .cheap = i % 4 != 0}, {}, {}, [&order, i] { return order.push_back(i), ok(); });
  open();
  ASSERT_TRUE(engine_->wait_all().ok());
  std::vector<int> expected;
  for (int priority = 2; priority >= 0; --priority) {
    for (int i = 0; i < 60; ++i) {
      if (i % 3 == priority) expected.push_back(i);
    }
  }
  EXPECT_EQ(order, expected);
}

TEST_P(Cheap, ErrorsAreThoseOfAllOperations) {
  Variable a = engine_->variable("a"), b = engine_->variable("b"), c = engine_->variable("c");
  bool ran = false;
  engine_->push({.name = "divide", .cheap = true}, {}, {a}, [] { return absl::OutOfRangeError("by zero"); });
  engine_->push({.name = "add", .cheap = true}, {a}, {b}, [&] { return ran = true, ok(); });
  engine_->push({.name = "throw", .cheap = true}, {}, {c}, []() -> absl::Status { throw std::runtime_error("no"); });
  EXPECT_EQ(engine_->wait(b), absl::OutOfRangeError("divide: by zero"));
  EXPECT_EQ(engine_->wait(c), absl::InternalError("throw: no"));
  EXPECT_FALSE(ran);
  EXPECT_EQ(engine_->wait_all(), absl::OutOfRangeError("divide: by zero"));
  engine_->recover(b);
  engine_->push({.name = "add", .cheap = true}, {}, {b}, [&] { return ran = true, ok(); });
  EXPECT_TRUE(engine_->wait(b).ok());
  EXPECT_TRUE(ran);
}

TEST_P(Cheap, ErrorsOfABatch) {
  // Behind a busy lane many are ready at once; each fails or not on its own.
  if (GetParam() != 0) close(Lane::compute);
  std::vector<Variable> variables;
  for (int i = 0; i < 40; ++i) {
    variables.push_back(engine_->variable("v"));
    engine_->push({.name = "op", .cheap = true}, {}, {variables.back()},
                  [i] { return i % 3 == 0 ? absl::InternalError(std::to_string(i)) : ok(); });
  }
  if (GetParam() != 0) open();
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(engine_->wait(variables[static_cast<size_t>(i)]).message(), i % 3 == 0 ? "op: " + std::to_string(i) : "");
  }
  EXPECT_EQ(engine_->wait_all().message(), "op: 0");
}

TEST_P(Cheap, DoesNotRunInsideAnotherBody) {
  Variable x = engine_->variable("x"), y = engine_->variable("y");
  bool ran = false, ran_inside = true;
  engine_->push({.lane = Lane::io}, {}, {x}, [&] {
    engine_->push({.cheap = true}, {x}, {y}, [&] { return ran = true, ok(); });
    return ran_inside = ran, ok();
  });
  ASSERT_TRUE(engine_->wait(x).ok());  // the inner push has been made
  ASSERT_TRUE(engine_->wait(y).ok());
  EXPECT_FALSE(ran_inside);
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace mxc::engine
