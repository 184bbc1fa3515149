// Checkpoints: exact continuation, what is in them, and what is refused.
#include "runtime/train/checkpoint.h"

#include <cstring>

#include "tests/runtime/held_safetensors.h"
#include "tests/runtime/train/trainer_fixture.h"

namespace mxc::train {
namespace {

using namespace mxc::test;

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
  const auto file = test::read_held(dir_.file("more"));
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
  const auto file = test::read_held(dir_.file("m"));
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
  auto file = *test::read_held(path);
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

TEST_F(Trainer, LoadNeedsParametersAlone) {
  train("m", {"--steps", "1"});
  auto file = *test::read_held(dir_.file("m"));
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
  const auto file = *test::read_held(dir_.file("m"));
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
  EXPECT_EQ(resumed("compress", "zip"), "'zip', expected a compression that this program knows\n");
  EXPECT_EQ(resumed("hyper.beta1", "0.5"), "'0.5', but the program has no such hyper-parameter\n");
}

// Found before the training, not at its first save.
TEST_F(Trainer, NamesThatNoCheckpointCanHold) {
  plan_ = softmax_plan({.weight = "dense0.bias"});
  EXPECT_EQ(error({"train", "--data", kDigits, "--epochs", "1000", "--save", dir_.file("m")}, 1),
            "softmax: error: the model cannot be saved: two of its tensors are called 'dense0.bias'\n");
  EXPECT_EQ(last_.out, "");
}

TEST_F(Trainer, CheckpointOfEveryEpoch) {
  const std::string checkpoints = dir_.file("checkpoints");
  const std::string whole = train("m", {"--epochs", "3", "--checkpoint-dir", checkpoints});
  EXPECT_EQ(contents_of(checkpoints + "/softmax-0003.safetensors"), whole);
  EXPECT_EQ(train("rest", {"--resume", checkpoints + "/softmax-0001.safetensors"}), whole);
}

}  // namespace
}  // namespace mxc::train
