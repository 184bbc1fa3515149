// Parameters that begin with a file: from each kind of file, in a layout of blocks too, and what is wrong with files.
#include "runtime/io/initial_files.h"

#include <cstring>

#include "runtime/io/npz.h"
#include "tests/runtime/held_safetensors.h"
#include "tests/runtime/train/trainer_fixture.h"

namespace mxc::train {
namespace {

using namespace mxc::test;

class InitialFiles : public Trainer {
 protected:
  // 640 or 10 numbers that are all different.
  static std::string numbers(int count) {
    std::vector<float> values(count);
    for (int i = 0; i < count; ++i) values[i] = static_cast<float>(i) * 0.25f - 7;
    return {reinterpret_cast<const char*>(values.data()), values.size() * 4};
  }
  std::string npy(const std::string& name, plan::DType dtype, std::vector<int64_t> shape, const std::string& bytes) {
    return dir_.write(name, io::npy_bytes({dtype, std::move(shape), bytes}));
  }
  void begin_with(const std::string& parameter, const std::string& file, const std::string& tensor = "") {
    facts_.emplace_back("init_file:" + parameter, file);
    if (!tensor.empty()) facts_.emplace_back("init_tensor:" + parameter, tensor);
    plan_ = softmax_plan({.facts = facts_});
  }
  // What the parameters are before the first step: one at rate zero leaves them.
  io::TensorFile start() {
    train("start", {"--steps", "1", "--lr", "0", "--seed", "5"});
    return *test::read_held(dir_.file("start"));
  }
  std::string refused(int code = 1) {
    const std::string said = error({"train", "--data", kDigits, "--save", dir_.file("m")}, code);
    EXPECT_FALSE(std::filesystem::exists(dir_.file("m")));
    facts_.clear();
    return said;
  }

  std::vector<std::pair<std::string, std::string>> facts_;
};

TEST_F(InitialFiles, EachKindOfFile) {
  const std::string weight = numbers(640), bias = numbers(10);
  const io::TensorFile random = start();
  const std::string archive = dir_.write("a.npz", *io::npz_bytes({{"w", {plan::DType::f32, {10, 64}, weight}}, {"b", {plan::DType::f32, {10}, bias}}}, "a"));
  io::TensorFile tensors;
  tensors.tensors = {{"dense0.weight", plan::DType::f32, {10, 64}, weight}, {"b", plan::DType::f32, {10}, bias}};
  ASSERT_TRUE(io::write_safetensors(dir_.file("a.safetensors"), tensors).ok());
  struct Source {
    std::string file, weight, bias;
  };
  for (const Source& source : {Source{archive, "w", "b"}, Source{dir_.file("a.safetensors"), "", "b"}}) {
    facts_.clear();
    begin_with("dense0.weight", source.file, source.weight);
    EXPECT_EQ(start().find("dense0.weight")->bytes, weight);  // in rows, though the program keeps it in blocks
    EXPECT_EQ(start().find("dense0.bias")->bytes, random.find("dense0.bias")->bytes);
    begin_with("dense0.bias", source.file, source.bias);
    EXPECT_EQ(start().find("dense0.bias")->bytes, bias);
  }
  facts_.clear();
  begin_with("dense0.weight", npy("w.npy", plan::DType::f32, {10, 64}, weight));
  EXPECT_EQ(start().find("dense0.weight")->bytes, weight);
}

// A checkpoint has all parameters: the file is no longer needed.
TEST_F(InitialFiles, ResumingReadsNoFile) {
  begin_with("dense0.bias", npy("b.npy", plan::DType::f32, {10}, numbers(10)));
  const std::string whole = train("whole", {"--epochs", "2"});
  train("half", {"--epochs", "2", "--steps", "50"});
  std::filesystem::remove(dir_.file("b.npy"));
  EXPECT_EQ(train("rest", {"--resume", dir_.file("half")}), whole);
}

TEST_F(InitialFiles, WhatIsWrongIsSaid) {
  const std::string weight = "softmax: error: parameter 'dense0.weight' begins with a file: ";
  begin_with("dense0.weight", dir_.file("none.npy"));
  EXPECT_EQ(refused(), weight + dir_.file("none.npy") + ": No such file or directory\n");
  begin_with("dense0.weight", npy("w.npy", plan::DType::f32, {64, 10}, numbers(640)));
  EXPECT_EQ(refused(), weight + dir_.file("w.npy") + ": the array is 64x10 f32, the parameter is 10x64 f32\n");
  begin_with("dense0.weight", npy("w.npy", plan::DType::f64, {10, 64}, numbers(1280)));
  EXPECT_EQ(refused(), weight + dir_.file("w.npy") + ": the array is 10x64 f64, the parameter is 10x64 f32\n");
  begin_with("dense0.weight", dir_.write("w.npy", "text"));
  EXPECT_EQ(refused(), weight + dir_.file("w.npy") + ": byte 0: wrong magic, this is no NPY array\n");
  const std::string archive = dir_.write("a.npz", *io::npz_bytes({{"b", {plan::DType::f32, {10}, numbers(10)}}}, "a"));
  begin_with("dense0.weight", archive);
  EXPECT_EQ(refused(), weight + archive + ": there is no tensor 'dense0.weight' in it\n");
  begin_with("dense0.weight", archive, "b");
  EXPECT_EQ(refused(), weight + archive + ": tensor 'b' is 10 f32, the parameter is 10x64 f32\n");
  begin_with("dense0.weight", dir_.write("a.safetensors", ""));
  EXPECT_EQ(refused().rfind(weight + dir_.file("a.safetensors") + ": ", 0), 0u);
}

}  // namespace
}  // namespace mxc::train
