// What the engine writes into a trace: operations with lane and sizes, and who waited for what.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "tests/runtime/engine/engines.h"

namespace mxc::engine {
namespace {

class EngineTrace : public OnEngine {};
INSTANTIATE_TEST_SUITE_P(Threads, EngineTrace, testing::Values(0, 1, 2, 4));
class ThreadedEngineTrace : public EngineTrace {};
INSTANTIATE_TEST_SUITE_P(Threads, ThreadedEngineTrace, testing::Values(1, 2, 4));

TEST_P(EngineTrace, WritesOneTraceEventAnOperation) {
  Trace trace;
  engine_->set_trace(&trace);
  engine_->push({.name = "load"}, {}, {}, ok);
  engine_->push_async({.name = "send", .lane = Lane::network}, {}, {}, [](Completion done) { done(ok()); });
  ASSERT_TRUE(engine_->wait_all().ok());
  engine_->set_trace(nullptr);
  engine_->push({.name = "later"}, {}, {}, ok);
  ASSERT_TRUE(engine_->wait_all().ok());
  std::string json = trace.json();
  EXPECT_NE(json.find("\"name\": \"load\", \"cat\": \"compute\", \"ph\": \"X\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"name\": \"send\", \"cat\": \"network\", \"ph\": \"X\""), std::string::npos) << json;
  EXPECT_EQ(json.find("later"), std::string::npos);
  if (GetParam() == 1) {
    EXPECT_NE(json.find("\"args\": {\"name\": \"compute 0\"}"), std::string::npos) << json;
  }
}

// Whether a thread has to wait is its own clock's affair: `trial` is repeated until `text` has been traced.
void expect_traced(Engine& engine, const std::string& text, const std::function<void()>& trial) {
  std::string json;
  for (int i = 0; i < 1000 && json.find(text) == std::string::npos; ++i) {
    Trace trace;
    engine.set_trace(&trace);
    trial();
    engine.set_trace(nullptr);
    json = trace.json();
  }
  EXPECT_NE(json.find(text), std::string::npos) << json;
}

absl::Status slow() { return std::this_thread::sleep_for(std::chrono::milliseconds(5)), ok(); }

TEST_P(ThreadedEngineTrace, TracesSizes) {
  Trace trace;
  engine_->set_trace(&trace);
  Variable x = engine_->variable("x", 64), y = engine_->variable("y", 4096);
  engine_->push({.name = "both"}, {x}, {y}, ok);
  engine_->push({.name = "one"}, {}, {x}, ok);
  ASSERT_TRUE(engine_->wait_all().ok());
  engine_->set_trace(nullptr);
  std::string json = trace.json();
  EXPECT_NE(json.find("\"args\": {\"bytes read\": 64, \"bytes written\": 4096}"), std::string::npos) << json;
  EXPECT_NE(json.find("\"args\": {\"bytes written\": 64}"), std::string::npos) << json;
}

TEST_P(ThreadedEngineTrace, TracesWaits) {
  Variable y = engine_->variable("y");
  expect_traced(*engine_, "\"name\": \"wait for y\", \"cat\": \"wait\"", [&] {
    engine_->push({}, {}, {y}, slow);
    ASSERT_TRUE(engine_->wait(y).ok());
  });
  expect_traced(*engine_, "\"name\": \"wait for all\", \"cat\": \"wait\"", [&] {
    engine_->push({}, {}, {y}, slow);
    ASSERT_TRUE(engine_->wait_all().ok());
  });
}

TEST_P(ThreadedEngineTrace, TracesThePushThatWaitsForRoom) {
  std::unique_ptr<Engine> engine = make_engine(GetParam(), 2);
  Variable x = engine->variable("x");
  expect_traced(*engine, "\"name\": \"wait for room\", \"cat\": \"wait\"", [&] {
    for (int i = 0; i < 6; ++i) engine->push({}, {}, {x}, slow);
    ASSERT_TRUE(engine->wait_all().ok());
  });
}

}  // namespace
}  // namespace mxc::engine
