// The verbs of the trainer on the hand-written model (softmax_model.h), in process.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/io/safetensors.h"
#include "tests/runtime/temp_dir.h"
#include "tests/runtime/train/run_trainer.h"

namespace mxc::test {

inline const std::string kDigits = "csv:" MXC_SOURCE_DIR "/examples/data/digits.csv.gz?label=64&scale=16&holdout=0.2";

// The last word of the line that starts with `key`.
inline double value_of(const std::string& text, const std::string& key) {
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

}  // namespace mxc::test
