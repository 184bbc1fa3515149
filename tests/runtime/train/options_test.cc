// Command lines that are wrong.
#include "runtime/train/options.h"

#include "tests/runtime/train/trainer_fixture.h"

namespace mxc::train {
namespace {

using namespace mxc::test;

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

}  // namespace
}  // namespace mxc::train
