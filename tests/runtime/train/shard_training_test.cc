// Steps of several shards on a small model written by hand, in one process: the weights of samples, and that gradients leave while backward runs.
#include "runtime/train/shard_training.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "runtime/io/sources.h"
#include "tests/runtime/plan_builder.h"

namespace mxc::train {
namespace {

using test::in, test::out, test::inout;

constexpr int64_t kBatch = 8, kWidth = 4;

// Opens once. Kernels are functions: what they wait for is here.
class Gate {
 public:
  void open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void close() {
    std::lock_guard lock(mutex_);
    open_ = false;
  }
  // False: it has not been opened for so long that nobody will.
  bool wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [&] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
};
Gate gate;
bool passed_in_time = false;  // written by a kernel, read after its run

// x, loss: the mean of the first column
void loss(void* const* args, int64_t n, int64_t, int64_t) {
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<const float*>(args[0])[i * kWidth];
  *static_cast<float*>(args[1]) = sum / static_cast<float>(n);
}

// x, gradient: the mean of x over the samples
void gradient(void* const* args, int64_t n, int64_t, int64_t) {
  const float* x = static_cast<const float*>(args[0]);
  float* gradient = static_cast<float*>(args[1]);
  for (int64_t j = 0; j < kWidth; ++j) {
    gradient[j] = 0;
    for (int64_t i = 0; i < n; ++i) gradient[j] += x[i * kWidth + j] / static_cast<float>(n);
  }
}

// The same, when the gate is open.
void late_gradient(void* const* args, int64_t n, int64_t begin, int64_t end) {
  passed_in_time = gate.wait();
  gradient(args, n, begin, end);
}

// x, state: what it was, plus the number of samples
void count(void* const* args, int64_t n, int64_t, int64_t) { *static_cast<float*>(args[1]) += static_cast<float>(n); }

// weight, gradient, slot, lr, rescale, new weight, new slot: the slot sums up gradients, and the weight follows it
void update(void* const* args, int64_t n, int64_t, int64_t) {
  const auto* const* from = reinterpret_cast<const float* const*>(args);
  for (int64_t i = 0; i < n; ++i) {
    const float slot = from[2][i] + from[1][i] * from[4][0];
    static_cast<float*>(args[6])[i] = slot;
    static_cast<float*>(args[5])[i] = from[0][i] - from[3][0] * slot;
  }
}

// Backward makes the gradient of "last" first, and then, late, that of "first".
test::BuiltPlan small_plan() {
  using plan::GraphKind, plan::OutputKind, plan::Role, plan::Space;
  test::PlanBuilder b;
  b.fact("model", "small");
  for (const char* name : {"first", "last"}) b.parameter({.name = name, .dims = {kWidth}});
  for (const char* name : {"first/sum", "last/sum"}) b.optimizer_slot({.name = name, .dims = {kWidth}});
  const uint32_t seen = b.buffer({.name = "seen", .dims = {1}, .space = Space::persistent, .role = Role::state});
  const uint32_t lr = b.hyper("lr", 0.5), rescale = b.hyper("rescale", 1);
  const uint32_t x = b.buffer({.name = "x", .dims = {kBatch, kWidth}, .space = Space::io, .role = Role::input, .batch_axis = 0});
  const auto io = [&](const char* name, Role role, std::vector<int64_t> dims, int axis = -1) {
    return b.buffer({.name = name, .dims = std::move(dims), .space = Space::io, .role = role, .batch_axis = axis});
  };
  const uint32_t value = io("loss", Role::output, {});
  const uint32_t of_last = io("last", Role::gradient, {kWidth}), of_first = io("first", Role::gradient, {kWidth});
  b.begin_graph("gradients", GraphKind::user, kBatch);
  b.input(x);
  b.step({.name = "loss", .kernel = loss, .args = {in(x), out(value)}});
  b.step({.name = "count", .kernel = count, .args = {in(x), inout(seen)}});
  b.begin_backward();
  b.step({.name = "gradient of last", .kernel = gradient, .args = {in(x), out(of_last)}});
  b.step({.name = "gradient of first", .kernel = late_gradient, .args = {in(x), out(of_first)}});
  b.output(value, OutputKind::loss);
  b.output(of_first, OutputKind::gradient);
  b.output(of_last, OutputKind::gradient);
  b.output(seen, OutputKind::state);
  b.end_graph();
  std::vector<uint32_t> given, made;
  for (const char* name : {"update/weight", "update/gradient", "update/sum"}) given.push_back(io(name, Role::input, {3}, 0));
  for (const char* name : {"update/weight", "update/sum"}) made.push_back(io(name, Role::output, {3}, 0));
  b.begin_graph("update", GraphKind::update, 3);  // parts of three elements: a parameter is more than one run
  for (uint32_t buffer : given) b.input(buffer);
  b.step({.name = "update", .kernel = update, .args = {in(given[0]), in(given[1]), in(given[2]), in(lr), in(rescale), out(made[0]), out(made[1])}});
  for (uint32_t buffer : made) b.output(buffer);
  b.end_graph();
  return b.build();
}

// Opens the gate when the gradient of "last" is pushed.
class WatchedExchange : public Exchange {
 public:
  absl::Status begin(std::vector<SharedKey> keys, int64_t shards, std::unique_ptr<KeyUpdates> updates, std::vector<std::string> initial) override {
    keys_ = keys;
    return own_->begin(std::move(keys), shards, std::move(updates), std::move(initial));
  }
  void push(uint32_t key, uint64_t step, std::vector<kv::PartOfKey> parts, int32_t priority, kv::Done done) override {
    if (keys_[key].name == "last") gate.open();
    own_->push(key, step, std::move(parts), priority, std::move(done));
  }
  void pull(uint32_t key, uint64_t step, char* target, kv::Done done) override { own_->pull(key, step, target, std::move(done)); }
  void ask(uint32_t key, uint64_t* steps, kv::Done done) override { own_->ask(key, steps, std::move(done)); }
  absl::Status flush() override { return absl::OkStatus(); }
  absl::Status barrier() override { return absl::OkStatus(); }
  absl::Status close(const std::vector<uint64_t>&) override { return absl::OkStatus(); }
  void fail(absl::Status) override {}
  absl::Status status() const override { return absl::OkStatus(); }
  kv::Traffic traffic() const override { return {}; }
  void stop() override {}

 private:
  std::vector<SharedKey> keys_;
  std::unique_ptr<Exchange> own_ = make_own_exchange();
};

class ShardTrainingTest : public testing::Test {
 protected:
  void open(int64_t shards, int64_t samples, std::unique_ptr<Exchange> exchange) {
    auto model = Model::open(program_, /*threads=*/1, /*naive=*/false);
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = *std::move(model);
    auto training = ShardTraining::create(model_.get(), {}, std::move(exchange));
    ASSERT_TRUE(training.ok()) << training.status();
    training_ = *std::move(training);
    auto data = io::open_data("random:" + std::to_string(samples), training_->runner()->inputs());
    ASSERT_TRUE(data.ok()) << data.status();
    data_ = *std::move(data);
    ASSERT_TRUE(training_->runner()->attach(*data_.train).ok());
    loader_ = std::make_unique<io::BatchLoader>(*data_.train, kBatch, model_->engine());
    UpdateRules rules;
    rules.rate = [](int64_t) { return 0.5; };
    rules.batch = kBatch;
    const auto begun = training_->begin({shards, kBatch, {0, shards}}, std::move(rules), {{"answer", 42}}, {});
    ASSERT_TRUE(begun.ok()) << begun.status();
    EXPECT_EQ(begun->steps, 0u);
    std::vector<int64_t> order(static_cast<size_t>(samples));
    for (int64_t i = 0; i < samples; ++i) order[static_cast<size_t>(i)] = i;
    loader_->start(own_order(training_->shards(), order));
  }

  // The mean of a column of x over samples [first, end).
  double mean(int64_t column, int64_t first, int64_t end) const {
    double sum = 0;
    for (int64_t row = first; row < end; ++row) {
      float x[kWidth];
      EXPECT_TRUE(data_.train->read(0, &row, 1, x).ok());
      sum += static_cast<double>(x[column]);
    }
    return sum / static_cast<double>(end - first);
  }
  const float* tensor(const char* name) const {
    return static_cast<const float*>(model_->storage().address(model_->view().buffer(model_->view().find_buffer(name))));
  }

  test::BuiltPlan plan_ = small_plan();
  const plan::Program program_ = plan_.program();
  std::unique_ptr<Model> model_;
  io::DataSplits data_;
  std::unique_ptr<io::BatchLoader> loader_;
  std::unique_ptr<ShardTraining> training_;
};

// A gradient larger than the address space: a model opens all the same, and several shards find no memory for it.
TEST_F(ShardTrainingTest, MemoryIsReservedWhenShardsTrain) {
  test::PlanBuilder b;
  b.parameter({.name = "w", .dims = {kWidth}});
  const uint32_t of_w = b.buffer({.name = "w", .dims = {kWidth}, .space = plan::Space::io, .role = plan::Role::gradient});
  const uint32_t too_much = b.buffer({.name = "rest", .dims = {int64_t{1} << 45}, .space = plan::Space::io});
  b.begin_graph("gradients", plan::GraphKind::user, 0);
  b.begin_backward();
  b.output(of_w, plan::OutputKind::gradient);
  b.output(too_much, plan::OutputKind::output);
  b.end_graph();
  std::vector<uint32_t> parts;
  for (const char* name : {"update/weight", "update/gradient", "update/weight"})
    parts.push_back(b.buffer({.name = name, .dims = {kWidth}, .space = plan::Space::io, .batch_axis = 0}));
  b.begin_graph("update", plan::GraphKind::update, kWidth);
  for (uint32_t input : {parts[0], parts[1]}) b.input(input);
  b.output(parts[2]);
  b.end_graph();
  const test::BuiltPlan plan = b.build();
  const plan::Program program = plan.program();
  auto model = Model::open(program, /*threads=*/1, /*naive=*/false);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto training = ShardTraining::create(model->get(), {}, make_own_exchange());
  EXPECT_EQ(training.status().message(), "device 0: no memory for 140737488355584 bytes");
}

TEST_F(ShardTrainingTest, GradientsAreMeansOverAllSamplesOfAStep) {
  // Steps of 3 x 8 samples: 24, and then 8, 3 and 0.
  open(3, 35, make_own_exchange());
  double slot[kWidth] = {}, weight[kWidth] = {};
  for (int64_t position : {0, 24}) {
    const int64_t end = position == 0 ? 24 : 35;
    const auto measured = training_->step(loader_.get(), position, 35, /*seed=*/0, position / 24, /*stop=*/false);
    ASSERT_TRUE(measured.ok()) << measured.status();
    EXPECT_EQ(measured->samples, end - position);
    EXPECT_NEAR(measured->sums[0], mean(0, position, end) * static_cast<double>(end - position), 1e-5);
    for (int64_t i = 0; i < kWidth; ++i) {
      slot[i] += mean(i, position, end);
      weight[i] -= 0.5 * slot[i];
    }
    ASSERT_TRUE(training_->settle().ok());
    for (const char* name : {"first", "last"})
      for (int64_t i = 0; i < kWidth; ++i) EXPECT_NEAR(tensor(name)[i], weight[i], 1e-5) << name;
  }
  // The state adds 8 in each shard of the first step, each from where the step began; then 8 and 3, which count as 8 and 3 of 11.
  EXPECT_NEAR(tensor("seen")[0], 8 + (8 * 8.0 + 3 * 3.0) / 11, 1e-5);
  ASSERT_TRUE(training_->collect(true).ok());
  for (int64_t i = 0; i < kWidth; ++i) EXPECT_NEAR(tensor("last/sum")[i], slot[i], 1e-5);
}

TEST_F(ShardTrainingTest, AGradientLeavesWhileBackwardRuns) {
  open(1, 16, std::make_unique<WatchedExchange>());
  gate.close();
  passed_in_time = false;
  ASSERT_TRUE(training_->step(loader_.get(), 0, 16, 0, 0, false).ok());
  EXPECT_TRUE(passed_in_time) << "the gradient of \"last\" did not leave before backward had ended";
}

TEST_F(ShardTrainingTest, AWishToStopIsToldToAll) {
  open(2, 32, make_own_exchange());
  EXPECT_FALSE(training_->step(loader_.get(), 0, 32, 0, 0, false)->stop);
  EXPECT_TRUE(training_->step(loader_.get(), 16, 32, 0, 1, true)->stop);
}

}  // namespace
}  // namespace mxc::train
