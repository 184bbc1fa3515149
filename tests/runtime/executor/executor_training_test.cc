// Training through an executor: equal to the trainer's bit for bit, saved and loaded, and by a loop of one's own.
#include <gtest/gtest.h>

#include "runtime/io/safetensors.h"
#include "tests/runtime/executor/executor_models.h"
#include "tests/runtime/held_safetensors.h"
#include "tests/runtime/temp_dir.h"
#include "tests/runtime/train/run_trainer.h"

namespace mxc {
namespace {

using namespace mxc::test;

const std::string kDigits = "csv:" MXC_SOURCE_DIR "/examples/data/digits.csv.gz?label=64&scale=16&holdout=0.2";

class ExecutorTraining : public testing::Test {
 protected:
  // Trains with the trainer for some steps and returns the file's name.
  std::string trained(const std::string& name, int steps) {
    const std::string path = dir_.file(name);
    const ModelChoices choices{.forward_backward = true};
    BuiltPlan plan = softmax_plan(choices);
    const auto run = run_trainer(plan, {"train", "--data", kDigits, "--seed", "7", "--steps", std::to_string(steps), "--save", path});
    EXPECT_EQ(run.code, 0) << run.err;
    return path;
  }
  void train(Executor& net, int64_t first, int64_t end) {
    DataSet digits = data::open(kDigits, net.inputs()).batches(32).shuffled(7);
    int64_t step = 0;
    for (int64_t epoch = 0; step < end; ++epoch) {
      for (const Batch& batch : digits.epoch(epoch)) {
        if (step++ < first) continue;
        if (step > end) return;
        net["image"] = batch.image;
        net["label"] = batch.label;
        net.step();
      }
    }
  }
  void expect_equal(const std::string& a, const std::string& b) {
    auto left = test::read_held(a), right = test::read_held(b);
    ASSERT_TRUE(left.ok() && right.ok());
    ASSERT_EQ(left->tensors.size(), right->tensors.size());
    for (const io::Tensor& tensor : left->tensors) {
      ASSERT_NE(right->find(tensor.name), nullptr) << tensor.name;
      EXPECT_EQ(right->find(tensor.name)->bytes, tensor.bytes) << tensor.name;
    }
  }

  HandModel model_ = softmax();
  TempDir dir_;
};

TEST_F(ExecutorTraining, StepsAreTheTrainers) {
  Executor net(model_, cpu(), {.seed = 7});
  train(net, 0, 60);  // more than an epoch: its last batch is short
  EXPECT_EQ(net.steps(), 60);
  net.save(dir_.file("own"));
  expect_equal(dir_.file("own"), trained("trainers", 60));
}

TEST_F(ExecutorTraining, GoesOnWithACheckpointOfTheTrainer) {
  Executor net(model_, cpu(), {.seed = 1});
  net.load(trained("half", 20));
  EXPECT_EQ(net.steps(), 20);
  train(net, 20, 50);
  net.save(dir_.file("own"));
  expect_equal(dir_.file("own"), trained("whole", 50));
}

TEST_F(ExecutorTraining, TheTrainerEvaluatesWhatAnExecutorSaved) {
  Executor net(model_, cpu(), {.seed = 7});
  train(net, 0, 30);
  net.save(dir_.file("own"));
  BuiltPlan plan = softmax_plan();
  const auto own = run_trainer(plan, {"eval", "--data", kDigits, "--load", dir_.file("own")});
  const auto theirs = run_trainer(plan, {"eval", "--data", kDigits, "--load", trained("trainers", 30)});
  EXPECT_EQ(own.code, 0) << own.err;
  EXPECT_EQ(own.out, theirs.out);
}

TEST_F(ExecutorTraining, LoadsParametersAlone) {
  io::TensorFile file;
  std::vector<float> weight(640), bias(10, 0.5f);
  for (size_t i = 0; i < weight.size(); ++i) weight[i] = static_cast<float>(i);
  const int64_t counter = 12;
  file.tensors.push_back({"dense0.weight", plan::DType::f32, {10, 64}, std::string(reinterpret_cast<char*>(weight.data()), 2560)});
  file.tensors.push_back({"dense0.bias", plan::DType::f32, {10}, std::string(reinterpret_cast<char*>(bias.data()), 40)});
  file.tensors.push_back({"counter", plan::DType::i64, {1}, std::string(reinterpret_cast<const char*>(&counter), 8)});
  ASSERT_TRUE(io::write_safetensors(dir_.file("plain"), file).ok());
  Executor net(model_);
  net.load(dir_.file("plain"));
  EXPECT_EQ(floats(net.parameters()[0].value), weight);
  EXPECT_EQ(floats(net.parameters()[1].value), bias);
  EXPECT_EQ(net.steps(), 0);
}

TEST_F(ExecutorTraining, AParameterMayBeginWithAFile) {
  io::TensorFile file;
  std::vector<float> bias = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  file.tensors.push_back({"bias", plan::DType::f32, {10}, std::string(reinterpret_cast<char*>(bias.data()), 40)});
  ASSERT_TRUE(io::write_safetensors(dir_.file("b"), file).ok());
  HandModel model = softmax({.facts = {{"init_file:dense0.bias", dir_.file("b")}, {"init_tensor:dense0.bias", "bias"}}});
  Executor net(model, cpu(), {.seed = 7}), other(model_, cpu(), {.seed = 7});
  EXPECT_EQ(floats(net.parameters()[1].value), bias);
  EXPECT_EQ(floats(net.parameters()[0].value), floats(other.parameters()[0].value));
  HandModel missing = softmax({.facts = {{"init_file:dense0.bias", dir_.file("c")}}});
  EXPECT_EQ(message_of([&] { Executor{missing}; }), "executor: parameter 'dense0.bias' begins with a file: " + dir_.file("c") +
                                                        ": No such file or directory");
}

TEST_F(ExecutorTraining, SavesWhatIsSharedInAnotherLayout) {
  HandModel plain = softmax({.plain_weight = true});
  Executor a(model_, cpu(), {.seed = 7});
  Executor b(plain, cpu(), {.share = &a});
  a.parameters()[0].value += 1.0f;
  a.save(dir_.file("a"));
  b.save(dir_.file("b"));
  expect_equal(dir_.file("a"), dir_.file("b"));
  Executor c(model_);
  Executor d(plain, cpu(), {.share = &c});
  d.load(dir_.file("a"));
  EXPECT_EQ(floats(c.parameters()[0].value), floats(a.parameters()[0].value));
}

TEST_F(ExecutorTraining, ALoopOfOnesOwnLearns) {
  Executor net(model_, cpu(), {.seed = 7});
  DataSet digits = data::open(kDigits, net.inputs()).batches(32);
  for (int64_t epoch = 0; epoch < 4; ++epoch) {
    for (const Batch& batch : digits.shuffled(7).epoch(epoch)) {
      net["image"] = batch.image;
      net["label"] = batch.label;
      net.forward_backward();
      for (Parameter& p : net.parameters()) p.value -= 0.5f * p.grad;
    }
  }
  double right = 0, total = 0;
  for (const Batch& batch : digits.test()) {
    net["image"] = batch.image;
    net["label"] = batch.label;
    net.evaluate();
    right += net.metric("accuracy").item<double>() * static_cast<double>(batch.rows());
    total += static_cast<double>(batch.rows());
  }
  EXPECT_GT(right / total, 0.9);
}

}  // namespace
}  // namespace mxc
