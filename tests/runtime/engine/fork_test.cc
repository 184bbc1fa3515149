// A forked child: its parent's engine answers with an error and can be destroyed, an engine of its own works, the parent notices nothing.
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "runtime/engine/default_engine.h"
#include "tests/runtime/engine/engines.h"
#include "tests/runtime/forked.h"

namespace mxc::engine {
namespace {

constexpr char kLost[] = "the engine does not survive fork: this process is a child of the one that made it";

class Fork : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Naive, Fork, testing::Bool());

TEST_P(Fork, TheChildIsToldAndTheParentGoesOn) {
  std::unique_ptr<Engine> engine = *Engine::create({.naive = GetParam()});
  Variable x = engine->variable("x");
  int runs = 0;
  auto push = [&] { engine->push({}, {}, {x}, [&] { return ++runs, ok(); }); };
  push();
  ASSERT_TRUE(engine->wait(x).ok());
  for (int i = 0; i < 50; ++i) push();  // some are queued or running at the fork
  const int code = in_child([&] {
    const int before = runs;
    push();
    engine->push_async({}, {}, {x}, [](Completion done) { done(ok()); });
    engine->push_staged({}, {{x, true, 0, 0}}, 1, [](uint32_t, uint32_t) { return ok(); });
    engine->recover(x);
    if (runs != before || !engine->inherited()) return 1;
    if (engine->wait(x) != absl::FailedPreconditionError(kLost)) return 2;
    if (engine->wait_idle(x) != absl::FailedPreconditionError(kLost)) return 3;
    if (engine->wait_all() != absl::FailedPreconditionError(kLost)) return 4;
    engine->set_trace(nullptr);
    if (engine->trace() != nullptr) return 5;
    engine.reset();  // does not wait for threads that are not there
    x = Variable();
    return 0;
  });
  EXPECT_EQ(code, 0);
  EXPECT_FALSE(engine->inherited());
  push();
  EXPECT_TRUE(engine->wait(x).ok());
  EXPECT_EQ(runs, 52);
}

TEST(ForkTest, TheChildMakesItsOwn) {
#ifdef MXC_THREAD_SANITIZER
  GTEST_SKIP() << "ThreadSanitizer allows no threads in the child of a process with threads";
#endif
  Engine& parents = default_engine();
  Variable x = parents.variable("x");
  parents.push({}, {}, {x}, ok);
  const int code = in_child([&] {
    Engine& own = default_engine();
    if (&own == &parents || own.inherited()) return 1;
    Variable y = own.variable("y");
    int sum = 0;
    for (int i = 1; i <= 100; ++i) own.push({}, {}, {y}, [&sum, i] { return sum += i, ok(); });
    if (!own.wait(y).ok() || sum != 5050) return 2;
    std::unique_ptr<Engine> another = *Engine::create({});
    Variable z = another->variable("z");
    another->push({}, {}, {z}, ok);
    if (!another->wait(z).ok()) return 3;
    another.reset();
    return 0;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(&default_engine(), &parents);
  EXPECT_TRUE(parents.wait(x).ok());
}

TEST(ForkTest, ABodyMayFork) {
  std::unique_ptr<Engine> engine = *Engine::create({});
  Variable x = engine->variable("x");
  int code = -1;
  engine->push({}, {}, {x}, [&] {
    code = in_child([&] { return engine->wait(x) == absl::FailedPreconditionError(kLost) ? 0 : 1; });
    return ok();
  });
  ASSERT_TRUE(engine->wait(x).ok());
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace mxc::engine
