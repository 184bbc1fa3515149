// Predictions, shown and written.
#include "runtime/train/predict.h"

#include <cmath>
#include <cstring>
#include <sstream>

#include "runtime/io/npz.h"
#include "tests/runtime/held_safetensors.h"
#include "tests/runtime/train/trainer_fixture.h"

namespace mxc::train {
namespace {

using namespace mxc::test;

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
  const auto file = test::read_held(dir_.file("m"));
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

TEST_F(Trainer, ColumnsOfOddNamesAreQuoted) {
  train("m", {"--steps", "1"});
  plan_ = softmax_plan({.output = "chance, \"p\""});
  last_ = run_trainer(plan_, {"predict", "--data", kDigits, "--load", dir_.file("m"), "--count", "1", "--output", dir_.file("p.csv")});
  ASSERT_EQ(last_.code, 0) << last_.err;
  EXPECT_EQ(contents_of(dir_.file("p.csv")).rfind("sample,\"chance, \"\"p\"\"[0]\",\"chance, \"\"p\"\"[1]\",", 0), 0u);
}

}  // namespace
}  // namespace mxc::train
