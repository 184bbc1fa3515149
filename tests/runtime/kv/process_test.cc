// Processes with their threads: one ends without a word in the middle of a job that waits for its dead, and another takes its place.
#include "runtime/kv/process.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <future>

#include "runtime/kv/scheduler_loop.h"
#include "tests/runtime/kv/transports.h"

namespace mxc::kv {
namespace {

constexpr uint64_t kSteps = 6;
constexpr int64_t kElements = 40;
using Values = std::array<float, kElements>;

// Within a process, or over TCP.
class ProcessReturnTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    for (uint32_t rank : {0u, 1u}) std::remove(state(rank).c_str());
  }
  void TearDown() override { SetUp(); }

  static std::string state(uint32_t rank) {
    return testing::TempDir() + "/mxc_process_" + std::to_string(::getpid()) + "_" + std::to_string(rank) + ".state";
  }

  // Rank's process, from the first step that is not in all values to `last`. Then it leaves, or is no more.
  void live(uint32_t rank, uint64_t last, bool leaves, Values& values, uint64_t& began) {
    ProcessOptions options;
    options.job = 7;
    options.rank = rank;
    options.size = 2;
    options.scheduler = options.member.scheduler = address_;
    options.listen = "tcp://127.0.0.1:*";
    options.state = state(rank);
    options.member.waits = true;
    options.member.silence = std::chrono::seconds(60);
    options.member.beat = std::chrono::milliseconds(20);
    options.worker.patience = std::chrono::milliseconds(100);
    options.endpoint = [&](int64_t) -> absl::StatusOr<std::unique_ptr<Transport>> { return endpoints_(); };
    auto process = Process::start(options);
    ASSERT_TRUE(process.ok()) << process.status();
    PlanRules rules = {.servers = 2, .workers = 2, .shards = 2};
    auto plan = make_plan({{"a", {kElements}, plan::DType::f32}, {"b", {kElements}, plan::DType::f32}}, rules);
    const auto add = [](const Step& step) {
      for (size_t at = 0; at < step.value.size(); at += sizeof(float)) {
        float value, sum;
        std::memcpy(&value, step.value.data() + at, sizeof value);
        std::memcpy(&sum, step.sum.data() + at, sizeof sum);
        value = value / 2 + sum;
        std::memcpy(step.value.data() + at, &value, sizeof value);
      }
      return absl::OkStatus();
    };
    const std::string zeros(sizeof(Values), '\0');
    ASSERT_TRUE((*process)->seal(*plan, add, rank == 0 ? std::vector{zeros, zeros} : std::vector<std::string>()).ok());
    std::array<uint64_t, 2> steps;
    wait([&](uint32_t key, Done done) { (*process)->ask(key, &steps[key], std::move(done)); });
    uint64_t step = began = std::min(steps[0], steps[1]);
    std::array<Values, 2> pulled;
    auto pull = [&](uint32_t key, Done done) { (*process)->pull(key, step, reinterpret_cast<char*>(pulled[key].data()), std::move(done)); };
    for (wait(pull); step < last; wait(pull)) {
      ++step;
      std::array<Values, 2> made;
      for (uint32_t key : {0u, 1u})
        for (size_t i = 0; i < kElements; ++i) made[key][i] = contribution(rank, key, step, i, pulled[1 - key][i]);
      wait([&](uint32_t key, Done done) { (*process)->push(key, step, {{reinterpret_cast<const char*>(made[key].data()), 1}}, 0, std::move(done)); });
    }
    values = pulled[0];
    if (!leaves) return (*process)->stop();
    for (uint32_t key : {0u, 1u}) (*process)->finish(key, kSteps + 1);
    EXPECT_TRUE((*process)->close().ok()) << (*process)->status();
  }

  // Of both keys.
  static void wait(const std::function<void(uint32_t key, Done done)>& begin) {
    const auto ends = std::make_shared<std::array<std::promise<absl::Status>, 2>>();  // outlives the calls that keep them
    for (uint32_t key : {0u, 1u}) begin(key, [ends, key](absl::Status status) { (*ends)[key].set_value(std::move(status)); });
    for (std::promise<absl::Status>& end : *ends) {
      const absl::Status status = end.get_future().get();
      EXPECT_TRUE(status.ok()) << status;
    }
  }

  static float contribution(uint32_t rank, uint32_t key, uint64_t step, size_t element, float other) {
    return static_cast<float>(rank * 5 + key * 3 + step + element) / 3.7f + 0.25f * other;
  }
  static Values plain_loops() {
    std::array<Values, 2> values = {};
    for (uint64_t step = 1; step <= kSteps; ++step) {
      const std::array<Values, 2> before = values;
      for (uint32_t key : {0u, 1u}) {
        for (size_t i = 0; i < kElements; ++i) {
          const float sum = contribution(0, key, step, i, before[1 - key][i]) + contribution(1, key, step, i, before[1 - key][i]);
          values[key][i] = before[key][i] / 2 + sum;
        }
      }
    }
    return values[0];
  }

  const test::Endpoints endpoints_ = GetParam() ? test::tcp() : test::in_process();
  std::string address_;
};

INSTANTIATE_TEST_SUITE_P(All, ProcessReturnTest, testing::Bool(), [](const auto& info) { return info.param ? "Tcp" : "InProcess"; });

TEST_P(ProcessReturnTest, AnotherGoesOnWhereOneEnded) {
  std::promise<std::string> address;
  std::string failure = "none";
  std::thread scheduler([&] {
    const SchedulerOptions options = {.members = 2, .waits = true};
    failure = std::string(run_scheduler(endpoints_(), 7, options, "tcp://127.0.0.1:*", [&](const std::string& at) { address.set_value(at); }).message());
  });
  address_ = address.get_future().get();
  Values values[2];
  uint64_t began[2] = {};
  std::thread other([&] { live(0, kSteps, true, values[0], began[0]); });
  for (uint64_t last : {uint64_t{1}, uint64_t{4}, kSteps}) {
    live(1, last, last == kSteps, values[1], began[1]);
    if (HasFatalFailure()) break;
  }
  other.join();
  scheduler.join();
  EXPECT_EQ(failure, "");
  EXPECT_EQ(values[0], plain_loops());
  EXPECT_EQ(values[1], plain_loops());
  EXPECT_EQ(began[1], 4u);
  EXPECT_NE(::access(state(1).c_str(), F_OK), 0);  // the job is over
}

}  // namespace
}  // namespace mxc::kv
