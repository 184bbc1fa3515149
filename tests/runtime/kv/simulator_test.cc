// The simulator against arithmetic on paper: jobs so small that one can say how long their steps take.
#include "runtime/kv/simulator.h"

#include <gtest/gtest.h>

namespace mxc::kv {
namespace {

constexpr double kBandwidth = 1e8;  // bytes/s
constexpr int64_t kElements = 25'600;
constexpr double kBytes = 4.0 * kElements;  // 1.024 ms on a link

// Messages without arrays are free, and so is processing.
SimulatedJob job_of(int workers, std::vector<ComputeStep> compute) {
  SimulatedJob job;
  job.rules.servers = job.rules.workers = job.rules.shards = workers;
  job.network = {.bandwidth = kBandwidth, .latency = 0, .processing = 1e15, .overhead = 0, .mtu = 0};
  job.compute = std::move(compute);
  return job;
}

std::vector<Key> keys_of(int keys) {
  std::vector<Key> made;
  for (int i = 0; i < keys; ++i) made.push_back({"k" + std::to_string(i), {kElements}, plan::DType::f32});
  return made;
}

// Forward reads the keys in order, backward makes them in the opposite order.
std::vector<ComputeStep> layers(uint32_t keys, double seconds) {
  std::vector<ComputeStep> steps;
  for (uint32_t key = 0; key < keys; ++key) steps.push_back({seconds, {key}, {}});
  for (uint32_t key = keys; key-- > 0;) steps.push_back({seconds, {}, {key}});
  return steps;
}

SimulatedStep run(const std::vector<Key>& keys, const SimulatedJob& job) {
  auto step = simulate(keys, job);
  EXPECT_TRUE(step.ok()) << step.status();
  return step.ok() ? *step : SimulatedStep();
}

TEST(Simulator, OneWorkerComputesAlone) {
  const SimulatedStep step = run(keys_of(3), job_of(1, layers(3, 0.005)));
  EXPECT_NEAR(step.seconds, 0.03, 1e-8);
  EXPECT_NEAR(step.compute, 0.03, 1e-8);
  EXPECT_EQ(step.sent, 0);
  EXPECT_EQ(step.communication, 0);
}

// The second worker's contribution goes to the first worker's server, and the value comes back: nothing else can be done meanwhile.
TEST(Simulator, OneKeyGoesThereAndBack) {
  SimulatedJob job = job_of(2, layers(1, 0.0025));
  const SimulatedStep step = run(keys_of(1), job);
  EXPECT_NEAR(step.seconds, 0.005 + 2 * kBytes / kBandwidth, 1e-8);
  EXPECT_NEAR(step.communication, kBytes / kBandwidth, 1e-8);  // each direction of a link once
  EXPECT_NEAR(step.sent, kBytes, 1);
  EXPECT_NEAR(step.received, kBytes, 1);
  EXPECT_EQ(step.hidden(), 0);

  // Two keys, on a server each or on one.
  SimulatedJob three = job_of(3, layers(2, 0.0025));
  three.network.latency = 0;
  EXPECT_NEAR(run(keys_of(2), three).sent, 3 * kBytes, 1);  // a server: its value to two others, its contribution to one
  three.rules.servers = 1;
  EXPECT_NEAR(run(keys_of(2), three).sent, 4 * kBytes, 1);  // the server: two values to two others
  EXPECT_NEAR(run(keys_of(2), three).received, 4 * kBytes, 1);

  job.network.latency = 0.00125;  // there and back
  EXPECT_NEAR(run(keys_of(1), job).seconds, 0.0075 + 2 * kBytes / kBandwidth, 1e-8);
  // 10 ms for each array: the value at the first worker, its contribution, and, behind that, the second worker's, which has come meanwhile.
  job.network.processing = kBytes / 0.01;
  EXPECT_NEAR(run(keys_of(1), job).seconds, 0.035, 1e-8);
}

// The last layer's array travels while the layers before it are computed backwards and forwards again; the first layer's cannot.
TEST(Simulator, CommunicationIsHiddenBehindComputation) {
  const SimulatedStep step = run(keys_of(2), job_of(2, layers(2, 0.004)));
  EXPECT_NEAR(step.compute, 0.016, 1e-8);
  EXPECT_NEAR(step.seconds, 0.016 + 2 * kBytes / kBandwidth, 1e-8);  // key 0 alone is waited for
  EXPECT_NEAR(step.sent, 2 * kBytes, 1);                             // a server each: one array's contribution, the other's value
  const SimulatedStep slow = run(keys_of(2), job_of(2, layers(2, 0.00001)));
  EXPECT_GT(slow.seconds, 2 * kBytes / kBandwidth);
  EXPECT_LT(slow.hidden(), 0.1);
}

// A value that may lack a step is there when it is asked for: what is waited for is its way back, and not others' contributions.
TEST(Simulator, StaleValuesWaitForNobody) {
  SimulatedJob job = job_of(2, layers(1, 0.0025));
  job.consistency.staleness = 1;
  job.steps = 40;
  EXPECT_NEAR(run(keys_of(1), job).seconds, 0.005 + kBytes / kBandwidth, 1e-6);
}

// What n workers send of arrays that are spread evenly: each all but its own part, there as contributions and back as values.
TEST(Simulator, BytesAreThoseOfAReduceScatterAndAGather) {
  for (int workers : {2, 4, 8}) {
    const SimulatedStep step = run(keys_of(16), job_of(workers, layers(16, 0.0001)));
    const double lower_bound = 2.0 * 16 * kBytes * (workers - 1) / workers;
    EXPECT_NEAR(step.sent, lower_bound, 0.02 * lower_bound) << workers;
    EXPECT_NEAR(step.received, lower_bound, 0.02 * lower_bound) << workers;
    EXPECT_GE(step.seconds, step.compute);
    EXPECT_GE(step.seconds * 1.0001, step.communication);
  }
}

// On a link that needs seconds for what is queued, nothing is asked for and sent twice.
TEST(Simulator, SlowLinksCarryNothingTwice) {
  SimulatedJob job = job_of(4, layers(16, 0.0001));
  job.network.bandwidth = 2e5;
  const SimulatedStep step = run(keys_of(16), job);
  const double lower_bound = 2.0 * 16 * kBytes * 3 / 4;
  EXPECT_GT(step.seconds, 10);
  EXPECT_NEAR(step.sent, lower_bound, 0.02 * lower_bound);
}

// What a link saves while it is idle, half an array, is there at once: on the way there and on the way back.
TEST(Simulator, AnIdleLinkCatchesUp) {
  SimulatedJob job = job_of(2, layers(1, 0.0025));
  job.network.burst = static_cast<int64_t>(kBytes / 2);
  EXPECT_NEAR(run(keys_of(1), job).seconds, 0.005 + 2 * (kBytes / 2) / kBandwidth, 1e-4);
}

// 1448 of 1500 bytes of a packet are the message's, and Ethernet adds 38: 70.7 packets are 71.
TEST(Simulator, PacketsHaveHeaders) {
  SimulatedJob job = job_of(2, layers(1, 0.0025));
  job.network.mtu = 1500;
  EXPECT_NEAR(run(keys_of(1), job).sent, kBytes + 71 * 90, 1);
  job.network.mtu = 9000;
  EXPECT_NEAR(run(keys_of(1), job).sent, kBytes + 12 * 90, 1);
}

// Contributions, and in sync values, cross links in the bytes of their method; credit is for what is packed, and messages are as many.
TEST(Simulator, CompressedBytesAreThoseOfTheMethod) {
  constexpr int64_t kLarge = 1 << 20;
  const double whole = 4.0 * kLarge;
  for (const auto& [method, part] : std::vector<std::pair<std::string, double>>{{"fp16", 1.0 / 2}, {"2bit", 1.0 / 16}, {"topk:0.1", 0.1 * 6 / 4}}) {
    std::vector<Key> keys = {{"k", {kLarge}, plan::DType::f32, plan::kNone, Key::Compressed::differences}};
    SimulatedJob job = job_of(2, layers(1, 0.0001));
    job.rules.compression = *parse_compression(method);
    EXPECT_NEAR(run(keys, job).sent, part * whole, 0.01 * whole * part) << method;  // half of it as contributions, half of it as values
    job.consistency.kind = Consistency::Kind::async;
    EXPECT_NEAR(run(keys, job).sent, (part + 1) / 2 * whole, 0.01 * whole) << method;
    job.consistency = {};
    keys[0].compressed = Key::Compressed::contributions;
    EXPECT_NEAR(run(keys, job).sent, (part + 1) / 2 * whole, 0.01 * whole) << method;
    job.rules.shards = 8;  // each shard's contribution travels by itself
    EXPECT_NEAR(run(keys, job).sent, (4 * part + 1) / 2 * whole, 0.01 * whole) << method;
  }
}

// Small keys travel together: one message there and one back.
TEST(Simulator, ABundleIsOneMessage) {
  std::vector<Key> keys;
  for (int i = 0; i < 8; ++i) keys.push_back({"small" + std::to_string(i), {256}, plan::DType::f32});
  SimulatedJob job = job_of(2, layers(8, 0.0001));
  const SimulatedStep alone = run(keys, job);
  job.rules.bundle_below = 1 << 20;
  const SimulatedStep bundled = run(keys, job);
  EXPECT_NEAR(bundled.seconds, 16 * 0.0001 + 2 * 8 * 1024 / kBandwidth, 1e-8);
  EXPECT_NEAR(bundled.sent, 8 * 1024, 1);
  EXPECT_LT(bundled.messages * 4, alone.messages);
}

// A machine with several shards computes them one after the other and sends once.
TEST(Simulator, ShardsOfAMachineShareItsLink) {
  SimulatedJob job = job_of(2, layers(1, 0.0025));
  job.rules.shards = 8;
  const SimulatedStep step = run(keys_of(1), job);
  EXPECT_NEAR(step.compute, 4 * 0.005, 1e-6);
  EXPECT_NEAR(step.seconds, 4 * 0.005 + 2 * kBytes / kBandwidth, 1e-8);
}

TEST(Simulator, IsDeterministic) {
  const SimulatedStep one = run(keys_of(5), job_of(3, layers(5, 0.0003))), two = run(keys_of(5), job_of(3, layers(5, 0.0003)));
  EXPECT_EQ(one.seconds, two.seconds);
  EXPECT_EQ(one.sent, two.sent);
}

TEST(Simulator, RefusesWhatCannotBe) {
  auto refused = [](SimulatedJob job, std::vector<Key> keys = keys_of(1)) { return std::string(simulate(keys, job).status().message()); };
  SimulatedJob job = job_of(2, layers(1, 0.1));
  job.steps = 2;
  EXPECT_EQ(refused(job), "steps: 3 at least, not 2");
  job = job_of(2, layers(1, 0.1));
  job.network.bandwidth = 0;
  EXPECT_EQ(refused(job), "a rate is a number above 0");
  job = job_of(2, layers(1, 0.1));
  job.network.latency = -1;
  EXPECT_EQ(refused(job), "a latency is a number from 0 on");
  job = job_of(2, layers(1, 0.1));
  job.network.mtu = 90;
  EXPECT_EQ(refused(job), "an mtu is 576 bytes at least, not 90");
  job = job_of(2, layers(1, 0.1));
  job.network.burst = -1;
  EXPECT_EQ(refused(job), "a burst is a number of bytes from 0 on");
  EXPECT_EQ(refused(job_of(2, {})), "nothing is computed");
  EXPECT_EQ(refused(job_of(2, layers(2, 0.1))), "key 1 of 1");
  EXPECT_EQ(refused(job_of(2, {{0.1, {}, {0}}, {0.1, {}, {0}}})), "key 0 is made twice in a step");
  EXPECT_EQ(refused(job_of(2, {{0.1, {0}, {}}})), "key 0 is read, and nothing makes it");
}

}  // namespace
}  // namespace mxc::kv
