// The verbs of the trainer on the hand-written model: learning, exact continuation, and what wrong input gets.
#include "runtime/train/trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/io/npz.h"
#include "runtime/io/safetensors.h"
#include "runtime/io/shuffle.h"
#include "runtime/io/sources.h"
#include "tests/runtime/temp_dir.h"
#include "tests/runtime/train/run_trainer.h"

namespace mxc::train {
namespace {

using namespace mxc::test;
using nlohmann::json;

const std::string kDigits = "csv:" MXC_SOURCE_DIR "/examples/data/digits.csv.gz?label=64&scale=16&holdout=0.2";

// The last word of the line that starts with `key`.
double value_of(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(key + " ", 0) == 0) return std::stod(line.substr(line.rfind(' ')));
  }
  ADD_FAILURE() << "no " << key << " in " << text;
  return NAN;
}

class Trainer : public testing::Test {
 protected:
  // Trains into a file of the given name and returns its bytes.
  std::string train(const std::string& name, std::vector<std::string> more, int expected = 0) {
    std::vector<std::string> all = {"train", "--data", kDigits, "--save", dir_.file(name)};
    all.insert(all.end(), more.begin(), more.end());
    last_ = run_trainer(plan_, all);
    EXPECT_EQ(last_.code, expected) << last_.err;
    return contents_of(dir_.file(name));
  }
  // Writes a checkpoint into the file `changed`, with one key of the metadata changed.
  std::string write_changed(io::TensorFile file, const std::string& key, const std::string& value) {
    file.metadata[key] = value;
    EXPECT_TRUE(io::write_safetensors(dir_.file("changed"), file).ok());
    return dir_.file("changed");
  }
  // Runs a command line that must fail with one line, and returns it.
  std::string error(std::vector<std::string> arguments, int code) {
    last_ = run_trainer(plan_, std::move(arguments));
    EXPECT_EQ(last_.code, code) << last_.err;
    EXPECT_EQ(std::count(last_.err.begin(), last_.err.end(), '\n'), 1) << last_.err;
    return last_.err;
  }

  BuiltPlan plan_ = softmax_plan();
  TempDir dir_;
  Ran last_;
};

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
  const auto start = io::read_safetensors(dir_.file("start")), trained = io::read_safetensors(dir_.file("whole"));
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

// A number that is a function of means is that function of the means over all samples, whatever the batches; the means are not shown.
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
  for (const json& event : trace["traceEvents"]) {
    loads += event["name"] == "load batch" ? 1 : 0;
    updates += event["name"] == "update" ? 1 : 0;
  }
  EXPECT_GE(loads, 3);
  EXPECT_EQ(updates, 3);
}

TEST_F(Trainer, ResumesBitForBitAnywhere) {
  const std::vector<std::string> settings = {"--epochs", "4", "--schedule", "cosine", "--warmup", "10",
                                             "--seed",   "3", "--batch",    "20",     "--lr",     "0.1"};
  const std::string whole = train("whole", settings);
  for (const char* steps : {"1", "50", "72", "73", "144", "287"}) {  // 72 steps are an epoch
    std::vector<std::string> part = settings;
    part.insert(part.end(), {"--steps", steps});
    EXPECT_NE(train("part", part), whole);
    EXPECT_EQ(train("rest", {"--resume", dir_.file("part")}), whole) << steps;  // the settings come from the checkpoint
  }
}

TEST_F(Trainer, ResumeWithOtherSettings) {
  train("part", {"--epochs", "2", "--lr", "0.1"});
  train("more", {"--resume", dir_.file("part"), "--epochs", "3", "--lr", "0.01"});
  const auto file = io::read_safetensors(dir_.file("more"));
  EXPECT_EQ(file->metadata.at("step"), "135");
  EXPECT_EQ(file->metadata.at("hyper.lr"), "0.01");
  train("again", {"--resume", dir_.file("part")});
  EXPECT_NE(last_.out.find("is already trained for 90 steps, 2 epochs; ask for more with --epochs or --steps"), std::string::npos)
      << last_.out;

  const std::string part = dir_.file("part");
  EXPECT_EQ(error({"train", "--data", kDigits, "--resume", part, "--seed", "9"}, 1),
            "softmax: error: --seed 9: " + part + " was begun with 0\n");
  EXPECT_EQ(error({"train", "--data", kDigits, "--resume", part, "--batch", "9"}, 1),
            "softmax: error: --batch 9: " + part + " was begun with 32\n");
  const std::string fewer = kDigits.substr(0, kDigits.find("&holdout"));
  EXPECT_EQ(error({"train", "--data", fewer, "--resume", part}, 1),
            "softmax: error: " + part + ": was trained on 1438 samples, " + fewer + " has 1797\n");
}

TEST_F(Trainer, CheckpointHoldsAllStateInPlainLayout) {
  train("m", {"--epochs", "1"});
  const auto file = io::read_safetensors(dir_.file("m"));
  ASSERT_TRUE(file.ok());
  std::vector<std::string> names;
  for (const io::Tensor& tensor : file->tensors) names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"counter", "dense0.bias", "dense0.bias/momentum", "dense0.weight",
                                             "dense0.weight/momentum"}));
  EXPECT_EQ(file->find("dense0.weight")->shape, (std::vector<int64_t>{10, 64}));
  int64_t counter = 0;
  std::memcpy(&counter, file->find("counter")->bytes.data(), 8);
  EXPECT_EQ(counter, 45);  // the program saw step = 0, 1, ... 44
  EXPECT_EQ(file->metadata.at("model"), "softmax");
  EXPECT_EQ(file->metadata.at("hash"), "0123abcd");
  EXPECT_EQ(file->metadata.at("format"), "mxc-checkpoint-1");
}

TEST_F(Trainer, CheckpointOfAnotherModelIsRefused) {
  train("m", {"--steps", "1"});
  const std::string path = dir_.file("m"), refusal = "softmax: error: " + path + ": not a checkpoint of model 'softmax': ";
  plan_ = softmax_plan({.weight = "conv0.weight"});
  EXPECT_EQ(error({"train", "--data", kDigits, "--resume", path}, 1), refusal + "tensor 'conv0.weight' is missing\n");
  EXPECT_EQ(error({"eval", "--data", kDigits, "--load", path}, 1), refusal + "tensor 'conv0.weight' is missing\n");
  plan_ = softmax_plan({.classes_in_file = 12});
  EXPECT_EQ(error({"predict", "--data", kDigits, "--load", path}, 1),
            refusal + "tensor 'dense0.bias' is 10 f32, the model has 12 f32\n");
  plan_ = softmax_plan();
  auto file = *io::read_safetensors(path);
  file.tensors.push_back({"extra", plan::DType::u8, {1}, "x"});
  ASSERT_TRUE(io::write_safetensors(path, file).ok());
  EXPECT_EQ(error({"train", "--data", kDigits, "--resume", path}, 1), refusal + "it has a tensor 'extra' that the model lacks\n");
  file.tensors.pop_back();
  // The same shapes, and yet another model: by its name, its hash, its format.
  plan_ = softmax_plan({.name = "other"});
  for (const char* verb : {"eval", "predict"}) {
    EXPECT_EQ(error({verb, "--data", kDigits, "--load", path}, 1),
              "other: error: " + path + ": not a checkpoint of model 'other': it is of model 'softmax'\n");
  }
  EXPECT_EQ(error({"train", "--data", kDigits, "--resume", path}, 1),
            "other: error: " + path + ": not a checkpoint of model 'other': it is of model 'softmax'\n");
  plan_ = softmax_plan();
  const auto resumed = [&](const char* key, const char* value) {
    io::TensorFile changed = file;
    changed.metadata[key] = value;
    if (value[0] == '\0') changed.metadata.erase(key);
    EXPECT_TRUE(io::write_safetensors(path, changed).ok());
    return error({"train", "--data", kDigits, "--resume", path}, 1);
  };
  EXPECT_EQ(resumed("hash", "89abcdef"), refusal + "its hash is 89abcdef, the program's 0123abcd\n");
  EXPECT_EQ(resumed("format", "mxc-checkpoint-2"), refusal + "its format is 'mxc-checkpoint-2', this program reads 'mxc-checkpoint-1'\n");
  EXPECT_EQ(resumed("format", ""), refusal + "metadata 'format' is missing\n");
  EXPECT_EQ(resumed("model", ""), refusal + "metadata 'model' is missing\n");
  EXPECT_EQ(resumed("optimizer", "adam"),
            "softmax: error: " + path + ": was trained with the optimizer 'adam', this program has 'sgd'; recompile: mxc compile "
            "softmax.cpp --optimizer=adam -o softmax\n");
}

// Inference takes the parameters of anybody: another optimizer's program, other tools' files.
TEST_F(Trainer, LoadNeedsParametersAlone) {
  train("m", {"--steps", "1"});
  auto file = *io::read_safetensors(dir_.file("m"));
  file.metadata["optimizer"] = "adam";
  file.metadata["hash"] = "89abcdef";
  ASSERT_TRUE(io::write_safetensors(dir_.file("adam"), file).ok());
  EXPECT_EQ(run_trainer(plan_, {"eval", "--data", kDigits, "--load", dir_.file("adam")}).code, 0);
  file.metadata = {{"format", "pt"}};
  std::erase_if(file.tensors, [](const io::Tensor& tensor) { return tensor.name.find('/') != std::string::npos; });
  ASSERT_TRUE(io::write_safetensors(dir_.file("pt"), file).ok());
  EXPECT_EQ(run_trainer(plan_, {"eval", "--data", kDigits, "--load", dir_.file("pt")}).code, 0);
}

TEST_F(Trainer, MetadataThatCannotBe) {
  train("m", {"--steps", "3"});
  const std::string path = dir_.file("changed");
  const auto file = *io::read_safetensors(dir_.file("m"));
  ASSERT_EQ(file.metadata.at("position"), "96");
  const auto resumed = [&](const std::string& key, const std::string& value) {
    io::TensorFile changed = file;
    changed.metadata[key] = value;
    if (value == "-") changed.metadata.erase(key);
    EXPECT_TRUE(io::write_safetensors(path, changed).ok());
    const std::string said = error({"train", "--data", kDigits, "--resume", path}, 1);
    const std::string start = "softmax: error: " + path + ": metadata '" + key + "' is ";
    EXPECT_EQ(said.rfind(start, 0), 0u) << said;
    return said.substr(start.size());
  };
  for (const char* key : {"step", "epoch", "position", "seed", "batch", "samples", "sums", "epochs", "schedule", "warmup", "hyper.lr"}) {
    EXPECT_EQ(resumed(key, "-"), "missing\n");
  }
  EXPECT_EQ(resumed("step", "soon"), "'soon', expected a whole number of at least 0\n");
  EXPECT_EQ(resumed("step", "-1"), "'-1', expected a whole number of at least 0\n");
  EXPECT_EQ(resumed("step", "4"), "'4', but epoch 0 and position 96 are reached by 3 steps\n");
  EXPECT_EQ(error({"train", "--data", kDigits, "--resume", write_changed(file, "epoch", "9")}, 1),
            "softmax: error: " + path + ": metadata 'step' is '3', but epoch 9 and position 96 are reached by 408 steps\n");
  EXPECT_EQ(resumed("epochs", "-5"), "'-5', expected a whole number from 1 to 1000000000\n");
  EXPECT_EQ(resumed("warmup", "-3"), "'-3', expected a whole number of at least 0\n");
  EXPECT_EQ(resumed("batch", "0"), "'0', expected a whole number of at least 1\n");
  EXPECT_EQ(resumed("seed", "-1"), "'-1', expected a whole number of at least 0\n");
  EXPECT_EQ(resumed("schedule", "fast\n").rfind("'fast\\n', expected constant, ", 0), 0u);
  for (const char* position : {"99999", "95", "1440"}) {
    EXPECT_EQ(resumed("position", position),
              "'" + std::string(position) + "', expected a multiple of the batch 32, or the 1438 samples of an epoch\n");
  }
  EXPECT_EQ(resumed("sums", "1"), "'1', expected 2 numbers, for the losses and metrics\n");
  EXPECT_EQ(resumed("sums", "1 2 3"), "'1 2 3', expected 2 numbers, for the losses and metrics\n");
  EXPECT_EQ(resumed("sums", "1 x"), "'1 x', expected numbers\n");
  EXPECT_EQ(resumed("hyper.lr", "nan"), "'nan', expected a number of at least 0\n");
  EXPECT_EQ(resumed("hyper.momentum", "1"), "'1', expected a number of at least 0 and below 1\n");
  EXPECT_EQ(resumed("hyper.momentum", "much"), "'much', expected a number\n");
  EXPECT_EQ(resumed("hyper.beta1", "0.5"), "'0.5', but the program has no such hyper-parameter\n");
}

TEST_F(Trainer, CheckpointOfEveryEpoch) {
  const std::string checkpoints = dir_.file("checkpoints");
  const std::string whole = train("m", {"--epochs", "3", "--checkpoint-dir", checkpoints});
  EXPECT_EQ(contents_of(checkpoints + "/softmax-0003.safetensors"), whole);
  EXPECT_EQ(train("rest", {"--resume", checkpoints + "/softmax-0001.safetensors"}), whole);
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

TEST_F(Trainer, PredictShowsPictures) {
  train("m", {"--epochs", "10"});
  last_ = run_trainer(plan_, {"predict", "--data", kDigits, "--load", dir_.file("m"), "--samples", "0,4"});
  ASSERT_EQ(last_.code, 0) << last_.err;
  EXPECT_EQ(std::count(last_.out.begin(), last_.out.end(), '\n'), 8 + 1 + 8);
  for (const char* part : {"sample 0", "sample 4", "probability: ", " %)", "label: ", "@@"}) {
    EXPECT_NE(last_.out.find(part), std::string::npos) << part << "\n" << last_.out;
  }
  EXPECT_EQ(error({"predict", "--data", kDigits, "--load", dir_.file("m"), "--samples", "359"}, 1),
            "softmax: error: --samples 359: " + kDigits + " has samples 0 to 358\n");
  EXPECT_EQ(error({"predict", "--data", kDigits, "--load", dir_.file("m"), "--output", "x.txt"}, 2),
            "softmax: error: --output x.txt: the name must end in .npz or .csv\n");
  EXPECT_EQ(error({"predict", "--data", kDigits, "--load", dir_.file("m"), "--output", dir_.file("no/x.csv")}, 1),
            "softmax: error: " + dir_.file("no/x.csv") + ": cannot write: No such file or directory\n");
}

TEST_F(Trainer, PredictWithoutLabelsAndIntoFiles) {
  train("m", {"--epochs", "2"});
  std::string text;
  for (int row = 0; row < 40; ++row) {
    for (int i = 0; i < 64; ++i) text += (i == 0 ? "" : ",") + std::to_string((row * 7 + i) % 17);
    text += "\n";
  }
  const std::string data = "csv:" + dir_.write("pixels.csv", text) + "?scale=16";
  for (const char* name : {"p.npz", "p.csv"}) {
    last_ = run_trainer(plan_, {"predict", "--data", data, "--load", dir_.file("m"), "--count", "40", "--output", dir_.file(name)});
    ASSERT_EQ(last_.code, 0) << last_.err;
  }
  const auto arrays = io::read_npz(dir_.file("p.npz"));
  ASSERT_TRUE(arrays.ok());
  ASSERT_EQ(arrays->size(), 1u);
  ASSERT_EQ((*arrays)[0].first, "probability");
  ASSERT_EQ((*arrays)[0].second.shape, (std::vector<int64_t>{40, 10}));
  std::vector<float> values(400);
  std::memcpy(values.data(), (*arrays)[0].second.bytes.data(), 1600);
  // The same in double from the checkpoint's plain weights.
  const auto file = io::read_safetensors(dir_.file("m"));
  std::vector<float> weight(640), bias(10);
  std::memcpy(weight.data(), file->find("dense0.weight")->bytes.data(), 2560);
  std::memcpy(bias.data(), file->find("dense0.bias")->bytes.data(), 40);
  for (int row = 0; row < 40; ++row) {
    double p[10], sum = 0;
    for (int c = 0; c < 10; ++c) {
      double logit = bias[c];
      for (int i = 0; i < 64; ++i) logit += weight[c * 64 + i] * ((row * 7 + i) % 17 / 16.0);
      sum += p[c] = std::exp(logit);
    }
    for (int c = 0; c < 10; ++c) EXPECT_NEAR(values[row * 10 + c], p[c] / sum, 1e-5);
  }
  std::istringstream lines(contents_of(dir_.file("p.csv")));
  std::string header, first;
  std::getline(lines, header);
  std::getline(lines, first);
  EXPECT_EQ(header.rfind("sample,probability[0],probability[1],", 0), 0u);
  EXPECT_EQ(std::strtof(first.c_str() + 2, nullptr), values[0]);
}

TEST_F(Trainer, Info) {
  last_ = run_trainer(plan_, {"info"});
  ASSERT_EQ(last_.code, 0);
  for (const char* part :
       {"softmax", "sgd", "dense0.weight", "layout 1/16,0", "650 numbers", "momentum 0.9", "reads image f32 32x1x8x8"}) {
    EXPECT_NE(last_.out.find(part), std::string::npos) << part << "\n" << last_.out;
  }
  const json info = json::parse(run_trainer(plan_, {"info", "--json"}).out);
  EXPECT_EQ(info["facts"]["model"], "softmax");
  EXPECT_EQ(info["parameters"][0]["shape"], json({10, 64}));
  EXPECT_EQ(info["parameters"][0]["bytes"], 2560);
  EXPECT_EQ(info["graphs"][1]["outputs"][1]["kind"], "metric");
  EXPECT_EQ(info["hypers"][0]["default"], 0.05);
}

TEST_F(Trainer, WrongCommandLines) {
  EXPECT_EQ(error({}, 2), "softmax: error: A subcommand is required; see softmax --help\n");
  EXPECT_EQ(error({"train"}, 2), "softmax: error: --data is required; see softmax --help\n");
  EXPECT_EQ(error({"trian"}, 2),
            "softmax: error: there is no verb 'trian'; did you mean 'train'?; verbs: train, eval, predict, info\n");
  EXPECT_EQ(error({"evaluate"}, 2),
            "softmax: error: there is no verb 'evaluate'; did you mean 'eval'?; verbs: train, eval, predict, info\n");
  EXPECT_EQ(error({"compile"}, 2), "softmax: error: there is no verb 'compile'; verbs: train, eval, predict, info\n");
  EXPECT_EQ(error({"train", "--data", "x", "--beta1", "0.9"}, 2).rfind("softmax: error: The following argument", 0), 0u);
  EXPECT_EQ(error({"train", "--data", "x", "--step", "3"}, 2).rfind("softmax: error: The following argument", 0),
            0u);  // counted, not set
  EXPECT_EQ(error({"train", "--data", "x", "--lr", "fast"}, 2),
            "softmax: error: Could not convert: --lr = fast; see softmax --help\n");
  for (const std::vector<std::string>& help : {std::vector<std::string>{"--help"},
                                               {"train", "--help"},
                                               {"eval", "--help"},
                                               {"predict", "--help"},
                                               {"info", "--help"},
                                               {"--version"}}) {
    last_ = run_trainer(plan_, help);
    EXPECT_EQ(last_.code, 0);
    EXPECT_FALSE(last_.out.empty());
    EXPECT_EQ(last_.err, "");
  }
}

TEST_F(Trainer, WrongNumbersOnTheCommandLine) {
  const auto refused = [&](const std::string& flag, const std::string& value) {
    const std::string said = error({"train", "--data", "x", flag, value}, 2);
    const std::string start = "softmax: error: " + flag + ": expected ", end = "; see softmax --help\n";
    EXPECT_EQ(said.rfind(start, 0), 0u) << said;
    EXPECT_EQ(said.substr(said.size() - end.size()), end) << said;
    return said.substr(start.size(), said.size() - start.size() - end.size());
  };
  EXPECT_EQ(refused("--epochs", "0"), "a whole number from 1 to 1000000000, not '0'");
  EXPECT_EQ(refused("--epochs", "99999999999999999999"), "a whole number from 1 to 1000000000, not '99999999999999999999'");
  EXPECT_EQ(refused("--epochs", "2.5"), "a whole number from 1 to 1000000000, not '2.5'");
  EXPECT_EQ(refused("--seed", "99999999999999999999999"),
            "a whole number from 0 to 18446744073709551615, not '99999999999999999999999'");
  EXPECT_EQ(refused("--seed", "-1"), "a whole number from 0 to 18446744073709551615, not '-1'");
  for (const char* flag : {"--steps", "--batch"}) EXPECT_EQ(refused(flag, "0"), "a whole number from 1 to 1000000000000000, not '0'");
  EXPECT_EQ(refused("--warmup", "-1"), "a whole number from 0 to 1000000000000000, not '-1'");
  EXPECT_EQ(refused("--threads", "0"), "a whole number from 1 to 4096, not '0'");
  for (const char* lr : {"nan", "inf", "-1"}) EXPECT_EQ(refused("--lr", lr), std::string("a number of at least 0, not ") + lr);
  EXPECT_EQ(refused("--momentum", "1"), "a number of at least 0 and below 1, not 1");
  for (const char* flag : {"--save", "--resume", "--log", "--trace", "--checkpoint-dir", "--optimizer", "--test-data"}) {
    EXPECT_EQ(refused(flag, ""), "a name, not ''");
  }
  EXPECT_EQ(error({"train", "--data", "x", "--batch", "33"}, 2),
            "softmax: error: --batch 33: the model was compiled for at most 32\n");
  EXPECT_EQ(error({"train", "--data", "x", "--schedule", "fast"}, 2),
            "softmax: error: --schedule fast: expected constant, step:EVERY:FACTOR, exp:FACTOR, cosine[:FLOOR] or poly[:POWER]\n");
  for (const char* verb : {"eval", "predict"}) {
    EXPECT_EQ(error({verb, "--data", "x", "--batch", "33"}, 2),
              "softmax: error: --batch 33: the model was compiled for at most 32\n");
  }
  EXPECT_EQ(error({"predict", "--data", "x", "--samples", "1,-2"}, 2),
            "softmax: error: --samples: expected a whole number from 0 to 1000000000000000, not '-2'; see softmax --help\n");
  EXPECT_EQ(error({"predict", "--data", "x", "--count", "none"}, 2),
            "softmax: error: --count: expected a whole number from 1 to 1000000000000000, not 'none'; see softmax --help\n");
}

// What cannot be written is found before the training, not after it.
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

TEST_F(Trainer, NothingOfAFileReachesTheTerminal) {
  const std::string path = dir_.write("a\x1b[31m\n.csv", "1\n");
  EXPECT_EQ(error({"train", "--data", "csv:" + path}, 1).rfind("softmax: error: csv:" + dir_.file("a\\x1b[31m\\n.csv") + ": ", 0), 0u);
}

TEST_F(Trainer, WrongInput) {
  EXPECT_EQ(error({"train", "--data", kDigits, "--optimizer", "adam"}, 2),
            "softmax: error: --optimizer adam: this program was compiled with 'sgd'; recompile: mxc compile softmax.cpp "
            "--optimizer=adam -o softmax\n");
  EXPECT_EQ(run_trainer(plan_, {"train", "--data", kDigits, "--optimizer", "sgd", "--steps", "1", "--save", dir_.file("m")}).code,
            0);
  EXPECT_EQ(error({"train", "--data", "csv:" + dir_.file("none")}, 1),
            "softmax: error: " + dir_.file("none") + ": No such file or directory\n");
  EXPECT_EQ(error({"train", "--data", kDigits, "--save", dir_.file("no/m")}, 1),
            "softmax: error: " + dir_.file("no/m") + ": cannot write: No such file or directory\n");
  EXPECT_EQ(error({"train", "--data", kDigits, "--save", dir_.file("m"), "--log", dir_.file("no/log")}, 1),
            "softmax: error: " + dir_.file("no/log") + ": cannot write: No such file or directory\n");
  EXPECT_EQ(error({"eval", "--data", kDigits, "--load", dir_.file("none")}, 1),
            "softmax: error: " + dir_.file("none") + ": no such file; train the model first, or name its checkpoint with --load\n");
  EXPECT_EQ(error({"train", "--data", kDigits, "--resume", dir_.file("none")}, 1),
            "softmax: error: " + dir_.file("none") + ": No such file or directory\n");
}

TEST_F(Trainer, WhatAProgramLacksIsNamed) {
  PlanBuilder builder;
  builder.fact("model", "softmax");
  plan_ = builder.build();
  EXPECT_EQ(error({"train", "--data", kDigits}, 3), "softmax: error: unsupported: this program has no train graph\n");
  EXPECT_EQ(error({"eval", "--data", kDigits}, 3), "softmax: error: unsupported: this program has no eval graph\n");
  EXPECT_EQ(error({"predict", "--data", kDigits}, 3), "softmax: error: unsupported: this program has no infer graph\n");
  plan_.header().version = 99;
  EXPECT_EQ(error({"info"}, 70).rfind("model: error: plan: ", 0), 0u);
}

// /dev/full takes no byte: results that cannot be written are an error, not silence.
TEST_F(Trainer, FullOutput) {
  FILE* full = std::fopen("/dev/full", "w");
  char name[] = "softmax", verb[] = "info";
  char* argv[] = {name, verb, nullptr};
  const plan::Program program = plan_.program();
  char* text = nullptr;
  size_t bytes = 0;
  FILE* err = open_memstream(&text, &bytes);
  EXPECT_EQ(trainer_main(2, argv, program, full, err), 1);
  std::fclose(err);
  EXPECT_STREQ(text, "softmax: error: the output could not be written\n");
  std::free(text);
  std::fclose(full);
}

}  // namespace
}  // namespace mxc::train
