// Training: learning, tables and logs, threads and engines, what is found before it begins.
#include "runtime/train/training.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "runtime/io/shuffle.h"
#include "runtime/io/sources.h"
#include "tests/runtime/held_safetensors.h"
#include "tests/runtime/train/trainer_fixture.h"

namespace mxc::train {
namespace {

using namespace mxc::test;
using nlohmann::json;

// The whole training in double, by plain loops: the same order of samples, the same start, the formulas of the model.
struct Reference {
  std::vector<double> weight, bias;

  explicit Reference(const io::TensorFile& start) : weight(10 * 64), bias(10, 0) {
    std::vector<float> values(640);
    std::memcpy(values.data(), start.find("dense0.weight")->bytes.data(), 2560);
    std::copy(values.begin(), values.end(), weight.begin());
  }

  void train(const io::Dataset& data, uint64_t seed, int epochs, int64_t batch, double lr, double momentum) {
    std::vector<double> weight_slot(640, 0), bias_slot(10, 0);
    for (int epoch = 0; epoch < epochs; ++epoch) {
      const std::vector<int64_t> order = io::shuffled(data.count(), seed, static_cast<uint32_t>(epoch));
      for (int64_t first = 0; first < data.count(); first += batch) {
        const int64_t n = std::min(batch, data.count() - first);
        std::vector<double> gradient(650, 0);
        for (int64_t i = first; i < first + n; ++i) add_gradient(data, order[i], &gradient);
        for (int p = 0; p < 650; ++p) {
          double& slot = p < 640 ? weight_slot[p] : bias_slot[p - 640];
          slot = momentum * slot + gradient[p] / static_cast<double>(n);
          (p < 640 ? weight[p] : bias[p - 640]) -= lr * slot;
        }
      }
    }
  }

  void add_gradient(const io::Dataset& data, int64_t row, std::vector<double>* gradient) const {
    float image[64];
    int32_t label = 0;
    ASSERT_TRUE(data.read(0, &row, 1, image).ok() && data.read(1, &row, 1, &label).ok());
    double p[10], sum = 0;
    for (int c = 0; c < 10; ++c) {
      double logit = bias[c];
      for (int i = 0; i < 64; ++i) logit += weight[c * 64 + i] * image[i];
      sum += p[c] = std::exp(logit);
    }
    for (int c = 0; c < 10; ++c) {
      const double error = p[c] / sum - (c == label ? 1 : 0);
      for (int i = 0; i < 64; ++i) (*gradient)[c * 64 + i] += error * image[i];
      (*gradient)[640 + c] += error;
    }
  }
};

TEST_F(Trainer, LearnsWhatPlainLoopsInDoubleLearn) {
  train("whole", {"--epochs", "3", "--seed", "5"});
  // One step at rate zero leaves the initial parameters.
  train("start", {"--steps", "1", "--lr", "0", "--seed", "5"});
  const auto start = test::read_held(dir_.file("start")), trained = test::read_held(dir_.file("whole"));
  ASSERT_TRUE(start.ok() && trained.ok());
  auto data =
      io::open_data(kDigits, {{"image", plan::DType::f32, {1, 8, 8}, 0, false}, {"label", plan::DType::i32, {}, 10, false}});
  ASSERT_TRUE(data.ok());
  ASSERT_EQ(data->train->count(), 1438);  // 44 batches of 32 and one of 30
  Reference reference(*start);
  reference.train(*data->train, 5, 3, 32, 0.05, 0.9);
  float weight[640];
  std::memcpy(weight, trained->find("dense0.weight")->bytes.data(), sizeof weight);
  for (int i = 0; i < 640; ++i) EXPECT_NEAR(weight[i], reference.weight[i], 2e-4) << i;
  EXPECT_EQ(trained->metadata.at("step"), "135");
  EXPECT_EQ(trained->metadata.at("epoch"), "3");
  EXPECT_EQ(trained->metadata.at("position"), "0");
}

TEST_F(Trainer, TableAndEvaluation) {
  train("m", {"--epochs", "10"});
  const std::vector<std::string> columns = {"epoch", "train loss", "train accuracy", "test loss", "test accuracy", "seconds"};
  size_t at = 0;
  for (const std::string& column : columns) {
    at = last_.out.find(column, at);
    ASSERT_NE(at, std::string::npos) << column << last_.out;
  }
  EXPECT_EQ(std::count(last_.out.begin(), last_.out.end(), '\n'), 12);  // header, ten epochs, where it was saved
  EXPECT_NE(last_.out.find("saved " + dir_.file("m")), std::string::npos);

  last_ = run_trainer(plan_, {"eval", "--data", kDigits, "--load", dir_.file("m")});
  ASSERT_EQ(last_.code, 0) << last_.err;
  EXPECT_EQ(value_of(last_.out, "samples"), 359);
  EXPECT_GT(value_of(last_.out, "accuracy"), 0.92);
  // The mean does not depend on the batch it is computed in: 359 is no multiple of 7 or 32.
  const Ran small = run_trainer(plan_, {"eval", "--data", kDigits, "--load", dir_.file("m"), "--batch", "7"});
  EXPECT_NEAR(value_of(small.out, "loss"), value_of(last_.out, "loss"), 1e-6);
  EXPECT_EQ(value_of(small.out, "accuracy"), value_of(last_.out, "accuracy"));
}

TEST_F(Trainer, ReportsAreFunctionsOfTheMeansOfAllSamples) {
  plan_ = softmax_plan({.error_rate = true});
  train("m", {"--epochs", "1", "--log", dir_.file("log")});
  EXPECT_EQ(last_.out.find("errors#0"), std::string::npos) << last_.out;
  EXPECT_NE(last_.out.find("train errors"), std::string::npos) << last_.out;
  for (const char* batch : {"32", "7"}) {
    last_ = run_trainer(plan_, {"eval", "--data", kDigits, "--load", dir_.file("m"), "--batch", batch});
    ASSERT_EQ(last_.code, 0) << last_.err;
    EXPECT_NEAR(value_of(last_.out, "errors"), 1 - value_of(last_.out, "accuracy"), 1e-6);
    EXPECT_EQ(last_.out.find("errors#0"), std::string::npos);
  }
  std::istringstream lines(contents_of(dir_.file("log")));
  int found = 0;
  for (std::string line; std::getline(lines, line);) {
    const json event = json::parse(line);
    const json& values = event["event"] == "epoch" ? event["test"] : event;
    if (!values.contains("errors")) continue;
    EXPECT_NEAR(values["errors"].get<double>(), 1 - values["accuracy"].get<double>(), 1e-6);
    EXPECT_FALSE(values.contains("errors#0"));
    ++found;
  }
  EXPECT_EQ(found, 45 + 1);
}

TEST_F(Trainer, ThreadsDoNotChangeABit) {
  const std::string one = train("a", {"--epochs", "3", "--threads", "1"});
  EXPECT_EQ(train("b", {"--epochs", "3", "--threads", "2"}), one);
  EXPECT_EQ(train("c", {"--epochs", "3", "--threads", "4"}), one);
  EXPECT_NE(train("d", {"--epochs", "3", "--threads", "1", "--seed", "1"}), one);
}

TEST_F(Trainer, NaiveEngineGivesTheSameBytes) {
  const std::string threaded = train("a", {"--epochs", "2", "--engine", "threaded", "--threads", "2"});
  EXPECT_EQ(train("b", {"--epochs", "2", "--engine=naive"}), threaded);
  EXPECT_EQ(error({"train", "--data", "x", "--engine", "fast"}, 2).rfind("softmax: error: --engine: ", 0), 0u);
}

TEST_F(Trainer, TraceIsJson) {
  train("m", {"--steps", "3", "--trace", dir_.file("trace")});
  const json trace = json::parse(contents_of(dir_.file("trace")));
  int loads = 0, updates = 0;
  std::set<std::string> threads;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "M") threads.insert(event["args"]["name"]);
    if (event["name"] == "load batch") {
      ++loads;
      EXPECT_EQ(event["cat"], "io");
      EXPECT_EQ(event["args"]["bytes written"], 32 * (64 + 1) * 4);  // a batch of pictures of 8x8 and their labels
    }
    if (event["name"] == "update") {
      ++updates;
      // Weight and bias of 10 classes of 64 pixels, with their momentum.
      EXPECT_EQ(event["args"]["bytes written"], 2 * 10 * (64 + 1) * 4);
    }
  }
  EXPECT_GE(loads, 3);
  EXPECT_EQ(updates, 3);
  // Which of the threads for computing had the work is not said.
  EXPECT_TRUE(std::any_of(threads.begin(), threads.end(), [](const std::string& name) { return name.rfind("compute ", 0) == 0; }));
  EXPECT_TRUE(threads.contains("io 0"));
}

TEST_F(Trainer, LogIsJsonLines) {
  train("m", {"--epochs", "2", "--log", dir_.file("log"), "--schedule", "step:1:0.5"});
  std::istringstream lines(contents_of(dir_.file("log")));
  std::vector<json> events;
  for (std::string line; std::getline(lines, line);) events.push_back(json::parse(line));
  ASSERT_EQ(events.size(), 1u + 90 + 2 + 1);
  EXPECT_EQ(events[0]["event"], "start");
  EXPECT_EQ(events[0]["samples"], 1438);
  EXPECT_EQ(events[0]["momentum"], 0.9);
  EXPECT_EQ(events[1]["step"], 1);
  EXPECT_EQ(events[1]["lr"], 0.05);
  EXPECT_EQ(events[45]["n"], 30);
  EXPECT_EQ(events[46]["event"], "epoch");
  EXPECT_EQ(events[47]["lr"], 0.025);
  EXPECT_GT(events[46]["test"]["accuracy"], 0.5);
  // The epoch's mean weights each step by its samples.
  double loss = 0;
  for (int i = 1; i <= 45; ++i) loss += events[i]["loss"].get<double>() * events[i]["n"].get<double>() / 1438;
  EXPECT_NEAR(events[46]["train"]["loss"].get<double>(), loss, 1e-7);
  EXPECT_EQ(events.back()["event"], "save");
  EXPECT_EQ(events.back()["file"], dir_.file("m"));
}

TEST_F(Trainer, TestData) {
  const std::string all = kDigits.substr(0, kDigits.find("&holdout"));
  train("m", {"--epochs", "1", "--test-data", all, "--log", dir_.file("log")});
  EXPECT_NE(last_.out.find("test accuracy"), std::string::npos);
  const Ran ran = run_trainer(plan_, {"train", "--data", all, "--epochs", "1", "--save", dir_.file("n")});
  EXPECT_EQ(ran.out.find("test accuracy"), std::string::npos);  // nothing held out: nothing to test on
}

TEST_F(Trainer, OutputsThatAreDirectories) {
  std::filesystem::create_directory(dir_.file("d"));
  for (const std::string& path : {dir_.file("d"), dir_.file("d/")}) {
    const std::string refusal = "softmax: error: " + path + ": cannot write: Is a directory\n";
    EXPECT_EQ(error({"train", "--data", kDigits, "--save", path}, 1), refusal);
    EXPECT_EQ(last_.out, "");
    EXPECT_EQ(error({"train", "--data", kDigits, "--save", dir_.file("m"), "--trace", path}, 1), refusal);
    EXPECT_EQ(last_.out, "");
  }
  EXPECT_EQ(error({"train", "--data", kDigits, "--save", dir_.file("m"), "--checkpoint-dir", dir_.write("f", "")}, 1),
            "softmax: error: " + dir_.file("f") + "/softmax-0001.safetensors: cannot write: Not a directory\n");
}

}  // namespace
}  // namespace mxc::train
