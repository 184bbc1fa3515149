// What concerns every verb: wrong input, programs that lack something, outputs that are lost.
#include "runtime/train/trainer.h"

#include <cstdio>

#include "tests/runtime/train/trainer_fixture.h"

namespace mxc::train {
namespace {

using namespace mxc::test;

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
  EXPECT_EQ(error({"train", "--data", kDigits, "--save", dir_.file("m"), "--trace", dir_.file("no/trace")}, 1),
            "softmax: error: " + dir_.file("no/trace") + ": cannot write: No such file or directory\n");
  EXPECT_EQ(last_.out, "");  // before training
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
