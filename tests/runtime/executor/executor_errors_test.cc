// What wrong use gets: one message, with names, shapes and the line of the call.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "runtime/engine/engine.h"
#include "tests/runtime/error_line.h"
#include "tests/runtime/executor/executor_models.h"
#include "tests/runtime/temp_dir.h"

namespace mxc {
namespace {

using namespace mxc::test;

class ExecutorErrors : public testing::Test {
 protected:
  HandModel model_ = softmax();
  Executor net_{model_};
  Samples samples_{6};
  void assign() {
    net_["image"] = samples_.images();
    net_["label"] = samples_.labels();
  }
};

TEST_F(ExecutorErrors, TheLineOfTheCall) {
  unsigned line = 0;
  try {
    line = __LINE__ + 1;
    net_["picture"] = samples_.images();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.where.line(), line);
    EXPECT_NE(std::string(error.what()).find("executor_errors_test.cc:" + std::to_string(line) + ":"), std::string::npos) << error.what();
  }
  try {
    line = __LINE__ + 1;
    net_.forward();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.where.line(), line);
  }
}

TEST_F(ExecutorErrors, OneThatHasBeenMovedFrom) {
  Executor taken = std::move(net_);
  const std::string gone = "the executor has been moved from";
  expect_here([&] { net_.forward(); }, gone);
  expect_here([&] { net_["image"]; }, gone);
  expect_here([&] { net_.parameters(); }, gone);
  expect_here([&] { net_.recover(); }, gone);
  expect_here([&] { net_.name(); }, gone);
  expect_here([&] { net_.batch(); }, gone);
  expect_here([&] { net_.arena_bytes(); }, gone);
  expect_here([&] { net_.outputs(); }, gone);
  expect_here([&] { Executor(model_, cpu(), {.share = &net_}); }, gone);
  net_ = std::move(taken);
  EXPECT_EQ(net_.name(), "softmax");
}

TEST_F(ExecutorErrors, AnEntryThatOutlivesItsExecutor) {
  auto net = std::make_unique<Executor>(model_);
  Entry image = (*net)["image"];
  Executor moved = std::move(*net);
  net = nullptr;
  image = samples_.images();  // the executor is another object now
  EXPECT_EQ(floats(moved["image"]), floats(samples_.images()));
  {
    const Executor last = std::move(moved);
  }
  wait_all();  // what is queued keeps what it needs of an executor
  EXPECT_EQ(message_of([&] { image = samples_.images(); }), "[\"image\"] = array: the executor is gone");
  EXPECT_EQ(floats(image), floats(samples_.images()));  // what it showed is still there
}

TEST_F(ExecutorErrors, EveryKindNamesTheLineOfTheCall) {
  // Names.
  expect_here([&] { net_["picture"]; }, "[\"picture\"]: the model 'softmax' has no input or result of this name; inputs: 'image', 'label'; results: "
                                        "'loss', 'accuracy', 'probability'");
  expect_here([&] { net_.gradient("label"); },
              "gradient: the model 'softmax' has no gradient of 'label'; it has 'dense0.weight', 'dense0.bias', 'image'");
  expect_here([&] { net_.set_hyper("rate", 1); }, "set_hyper: the model 'softmax' has no hyper-parameter 'rate'; it has 'lr', 'momentum'");
  expect_here([&] { net_.request("label", GradientRequest::none); },
              "request: the model 'softmax' has no gradient of 'label'; it has 'dense0.weight', 'dense0.bias', 'image'");
  // Shapes and types on assignment; an array that was moved from.
  expect_here([&] { net_["image"] = NDArray::zeros({6, 64}); }, "[\"image\"] = array: expected f32 {n <= 32, 1, 8, 8}, got f32 {6, 64}");
  expect_here([&] { net_["label"] = NDArray::zeros({6}); }, "[\"label\"] = array: expected i32 {n <= 32}, got f32 {6}");
  NDArray gone = samples_.labels();
  const NDArray taken = std::move(gone);
  expect_here([&] { net_["label"] = gone; }, "[\"label\"] = array: the array is empty");
  expect_here([&] { net_.parameters()[0].value = NDArray::zeros({3}); }, "assign: shapes {10, 64} and {3} do not broadcast");
  expect_here([&] { net_.parameters()[0].value -= NDArray::zeros({3}); }, "sub: shapes {10, 64} and {3} do not broadcast");
  // Another device.
  expect_here([&] { net_["image"] = samples_.images().to(cpu(1)); }, "[\"image\"] = array: the array lies on cpu(1), the executor on cpu(0)");
  expect_here([&] { Executor(model_, cpu(1), {.share = &net_}); }, "executor: 'softmax' on cpu(1) cannot share with 'softmax' on cpu(0)");
  PlanBuilder b;
  b.device(plan::DeviceKind::cuda);
  HandModel elsewhere("elsewhere", b.build());
  expect_here([&] { Executor{elsewhere}; }, "executor: the model 'elsewhere' is compiled for cuda, not for cpu(0)");
  // Order.
  expect_here([&] { net_.backward(); }, "backward: there is no forward(true) of 'softmax' to go back from");
  expect_here([&] { net_.forward_backward(); }, "forward_backward: the input 'image' has not been assigned");
  expect_here([&] { net_.step(); }, "step: the input 'image' has not been assigned");
  expect_here([&] { net_.evaluate(); }, "evaluate: the input 'image' has not been assigned");
  expect_here([&] { net_.loss(); }, "loss: nothing of 'softmax' has been run yet");
  expect_here([&] { net_.metric("accuracy"); }, "metric: nothing of 'softmax' has been run yet");
  expect_here([&] { net_["loss"]; }, "[\"loss\"]: nothing has been run yet");
  assign();
  net_.forward(true);
  expect_here([&] { net_.backward({{"probability", NDArray::zeros({6, 10})}}); },
              "backward: the model 'softmax' descends on its loss; it takes no head gradients");
  // What goes wrong later is told at the line that reads.
  net_["label"] = NDArray::full({6}, 10, i32);
  net_.forward_backward();
  const NDArray loss = net_.loss();
  expect_here([&] { loss.item<float>(); }, message_of([&] { loss.item<float>(); }));
}

// The line that reads is where it is thrown; the line that assigned is in the text.
TEST_F(ExecutorErrors, AWrongLabelNamesTheLineOfItsAssignment) {
  net_["image"] = samples_.images();
  const int line = __LINE__ + 1;
  net_["label"] = NDArray::full({6}, 10, i32);
  net_.evaluate();
  try {
    net_.loss().item<float>();
    FAIL();
  } catch (const Error& error) {
    const std::string place = "executor_errors_test.cc:" + std::to_string(line) + ":";
    EXPECT_NE(error.message.find("input: input 'label' holds 10 at element 0, expected 0 <= value < 10 (called at "), std::string::npos) << error.message;
    EXPECT_NE(error.message.find(place), std::string::npos) << error.message;
  }
}

TEST_F(ExecutorErrors, Names) {
  EXPECT_EQ(message_of([&] { net_["picture"] = samples_.images(); }),
            "[\"picture\"]: the model 'softmax' has no input or result of this name; inputs: 'image', 'label'; results: 'loss', 'accuracy', "
            "'probability'");
  EXPECT_EQ(message_of([&] { net_["probability"] = samples_.images(); }), "[\"probability\"]: nothing has been run yet");
  assign();
  net_.forward();
  EXPECT_EQ(message_of([&] { net_["probability"] = samples_.images(); }),
            "[\"probability\"] = array: the model 'softmax' has no input of this name; inputs: 'image', 'label'; results: 'loss', "
            "'accuracy', 'probability'");
  EXPECT_EQ(message_of([&] { net_.output("logits"); }), "output: the model 'softmax' has no output 'logits'; it has 'probability'");
  EXPECT_EQ(message_of([&] { net_.gradient("label"); }),
            "gradient: the model 'softmax' has no gradient of 'label'; it has 'dense0.weight', 'dense0.bias', 'image'");
  EXPECT_EQ(message_of([&] { net_.request("label", GradientRequest::none); }),
            "request: the model 'softmax' has no gradient of 'label'; it has 'dense0.weight', 'dense0.bias', 'image'");
  EXPECT_EQ(message_of([&] { net_.set_hyper("rate", 1); }),
            "set_hyper: the model 'softmax' has no hyper-parameter 'rate'; it has 'lr', 'momentum'");
  EXPECT_EQ(message_of([&] { net_.hyper("seed"); }), "hyper: the model 'softmax' has no hyper-parameter 'seed'; it has 'lr', 'momentum'");
  EXPECT_EQ(message_of([&] { net_.set_hyper("lr", NAN); }), "set_hyper: 'lr': expected a number of at least 0, not nan");
  EXPECT_EQ(message_of([&] { net_.set_hyper("lr", -0.1); }), "set_hyper: 'lr': expected a number of at least 0, not -0.1");
  EXPECT_EQ(message_of([&] { net_.set_hyper("lr", 1e60); }), "set_hyper: 'lr': expected a number of at least 0, not 1e+60 (in f32)");
  EXPECT_EQ(message_of([&] { net_.set_hyper("momentum", 1); }), "set_hyper: 'momentum': expected a number of at least 0 and below 1, not 1");
  EXPECT_FLOAT_EQ(static_cast<float>(net_.hyper("lr")), 0.05f);  // none of them was taken
}

TEST_F(ExecutorErrors, ShapesAndTypes) {
  EXPECT_EQ(message_of([&] { net_["image"] = NDArray::zeros({6, 64}); }),
            "[\"image\"] = array: expected f32 {n <= 32, 1, 8, 8}, got f32 {6, 64}");
  EXPECT_EQ(message_of([&] { net_["image"] = NDArray::zeros({33, 1, 8, 8}); }),
            "[\"image\"] = array: expected f32 {n <= 32, 1, 8, 8}, got f32 {33, 1, 8, 8}");
  EXPECT_EQ(message_of([&] { net_["image"] = NDArray::zeros({0, 1, 8, 8}); }),
            "[\"image\"] = array: expected f32 {n <= 32, 1, 8, 8}, got f32 {0, 1, 8, 8}");
  EXPECT_EQ(message_of([&] { net_["label"] = NDArray::zeros({6}); }), "[\"label\"] = array: expected i32 {n <= 32}, got f32 {6}");
  EXPECT_EQ(message_of([&] { net_["label"] = NDArray(); }), "[\"label\"] = array: the array is empty");
}

TEST_F(ExecutorErrors, NumbersOfSamples) {
  assign();
  net_["label"] = NDArray::zeros({5}, i32);
  EXPECT_EQ(message_of([&] { net_.forward_backward(); }),
            "forward_backward: the inputs differ in their number of samples: 'image' has 6, 'label' has 5");
  EXPECT_EQ(message_of([&] { net_.step(); }), "step: the inputs differ in their number of samples: 'image' has 6, 'label' has 5");
  net_.forward();  // reads no label
}

TEST_F(ExecutorErrors, Order) {
  EXPECT_EQ(message_of([&] { net_.forward(); }), "forward: the input 'image' has not been assigned");
  EXPECT_EQ(message_of([&] { net_.loss(); }), "loss: nothing of 'softmax' has been run yet");
  EXPECT_EQ(message_of([&] { net_.metric("accuracy"); }), "metric: nothing of 'softmax' has been run yet");
  EXPECT_EQ(message_of([&] { net_.output("probability"); }), "[\"probability\"]: nothing has been run yet");
  EXPECT_EQ(message_of([&] { net_.backward(); }), "backward: there is no forward(true) of 'softmax' to go back from");
  assign();
  net_.forward();
  EXPECT_EQ(message_of([&] { net_.loss(); }),
            "loss: the last run of 'softmax', of graph 'infer', computes no 'loss'; it computes none");
  EXPECT_EQ(message_of([&] { net_.backward(); }), "backward: there is no forward(true) of 'softmax' to go back from");
  net_.evaluate();
  EXPECT_EQ(message_of([&] { net_.metric("precision"); }),
            "metric: the last run of 'softmax', of graph 'eval', computes no 'precision'; it computes 'loss', 'accuracy'");
  EXPECT_EQ(message_of([&] { net_["probability"]; }),
            "[\"probability\"]: the last run, of graph 'eval', does not compute it");
  net_.forward(true);
  net_.backward();
  EXPECT_EQ(message_of([&] { net_.backward(); }), "backward: there is no forward(true) of 'softmax' to go back from");
}

TEST_F(ExecutorErrors, WhatBackwardReadsMustNotChange) {
  HandModel model = scale();
  Executor net(model);
  net["x"] = NDArray::ones({2, 2});
  const auto backward = [&] { net.backward({{"y", NDArray::ones({2, 2})}}); };
  net.forward(true);
  net["x"] = NDArray::ones({2, 2});
  expect_here([&] { net.backward({{"y", NDArray::ones({2, 2})}}); },
              "backward: the input 'x' was written to after forward(true): gradients need what was there");
  net.forward(true);
  net["x"] += 1;
  EXPECT_EQ(message_of(backward), "backward: the input 'x' was written to after forward(true): gradients need what was there");
  net.forward(true);
  net.parameters()[0].value *= 2;
  EXPECT_EQ(message_of(backward), "backward: the parameter 'w' was written to after forward(true): gradients need what was there");
  // What is not read again may change: without the gradient of w, x is not needed.
  net.request("w", GradientRequest::none);
  net.forward(true);
  net["x"] = NDArray::zeros({2, 2});
  backward();
  EXPECT_EQ(floats(net.gradient("x")), std::vector<float>(4, 0.0f));  // w began as 0
}

TEST_F(ExecutorErrors, TheArenaIsNeededForSomethingElse) {
  assign();
  HandModel other_model = softmax({.name = "other"});
  Executor other(other_model, cpu(), {.share = &net_});
  net_.forward(true);
  other["image"] = samples_.images();
  other.forward();
  EXPECT_EQ(message_of([&] { net_.backward(); }),
            "backward: what forward(true) of 'softmax' left is gone: a run of 'other' came after it");
}

TEST_F(ExecutorErrors, Graphs) {
  BuiltPlan plain = softmax_plan();
  HandModel without("plain", std::move(plain));
  Executor net(without);
  net["image"] = samples_.images();
  net["label"] = samples_.labels();
  EXPECT_EQ(message_of([&] { net.forward_backward(); }),
            "forward_backward: the model 'plain' has no graph 'forward_backward'; it has 'init', 'train', 'eval', 'infer'");
  EXPECT_EQ(message_of([&] { net.backward(); }),
            "backward: the model 'plain' has no graph 'forward_backward'; it has 'init', 'train', 'eval', 'infer'");
  HandModel lossless = scale();
  Executor scaling(lossless);
  scaling["x"] = NDArray::zeros({2, 2});
  EXPECT_EQ(message_of([&] { scaling.step(); }), "step: the model 'scale' has no graph 'train'; it has 'infer', 'forward_backward'");
  EXPECT_EQ(message_of([&] { scaling.evaluate(); }), "evaluate: the model 'scale' has no graph 'eval'; it has 'infer', 'forward_backward'");
}

TEST_F(ExecutorErrors, HeadGradients) {
  assign();
  net_.forward(true);
  EXPECT_EQ(message_of([&] { net_.backward({{"probability", NDArray::zeros({6, 10})}}); }),
            "backward: the model 'softmax' descends on its loss; it takes no head gradients");
  HandModel lossless = scale();
  Executor net(lossless);
  net["x"] = NDArray::zeros({2, 2});
  EXPECT_EQ(message_of([&] { net.forward_backward(); }),
            "forward_backward: the model 'scale' has no loss: call forward(true) and backward with head gradients");
  net.forward(true);
  EXPECT_EQ(message_of([&] { net.backward(); }), "backward: the model 'scale' has no loss: it needs the head gradient of 'y'");
  EXPECT_EQ(message_of([&] { net.backward({}); }), "backward: the model 'scale' has no loss: it needs the head gradient of 'y'");
  EXPECT_EQ(message_of([&] { net.backward({{"z", NDArray::zeros({2, 2})}}); }),
            "backward: the model 'scale' has no output 'z' that takes a head gradient; those that do: 'y'");
  EXPECT_EQ(message_of([&] { net.backward({{"y", NDArray::zeros({2, 2})}, {"y", NDArray::zeros({2, 2})}}); }),
            "backward: the head gradient of 'y' is given more than once");
  EXPECT_EQ(message_of([&] { net.backward({{"y", NDArray::zeros({1, 2})}}); }),
            "backward: the head gradient of 'y' has 1 sample, forward(true) had 2 samples");
  EXPECT_EQ(message_of([&] { net.backward({{"y", NDArray::zeros({2, 2}, f64)}}); }),
            "backward: the head gradient of 'y': expected f32 {n <= 8, 2}, got f64 {2, 2}");
  EXPECT_EQ(message_of([&] { net.backward({{"y", NDArray()}}); }), "backward: the head gradient of 'y': the array is empty");
  net.backward({{"y", NDArray::ones({2, 2})}});
}

TEST_F(ExecutorErrors, Devices) {
  EXPECT_EQ(message_of([&] { Executor(model_, cpu(1), {.share = &net_}); }),
            "executor: 'softmax' on cpu(1) cannot share with 'softmax' on cpu(0)");
  EXPECT_EQ(message_of([&] { net_["image"] = samples_.images().to(cpu(1)); }),
            "[\"image\"] = array: the array lies on cpu(1), the executor on cpu(0)");
  PlanBuilder b;
  b.device(plan::DeviceKind::cuda);
  HandModel elsewhere("elsewhere", b.build());
  EXPECT_EQ(message_of([&] { Executor{elsewhere}; }), "executor: the model 'elsewhere' is compiled for cuda, not for cpu(0)");
}

TEST_F(ExecutorErrors, Models) {
  EXPECT_EQ(message_of([&] { Executor(model_, cpu(-1)); }), "executor: there is no device cpu(-1)");
  EXPECT_EQ(message_of([&] { Executor(Model{"ghost", nullptr}); }), "executor: the model 'ghost' is not compiled into this program");
  const char bytes[64] = {};
  const plan::Program broken{bytes, sizeof bytes, nullptr, 0};
  EXPECT_NE(message_of([&] { Executor(Model{"broken", &broken}); }).find("executor: model 'broken': plan: "), std::string::npos);
  HandModel narrow = softmax({.classes_in_file = 12});
  EXPECT_EQ(message_of([&] { Executor(narrow, cpu(), {.share = &net_}); }),
            "executor: 'dense0.bias' of model 'softmax' is {12} f32, the one to share is {10} f32");
  auto engine = engine::Engine::create({});
  ASSERT_TRUE(engine.ok());
  EXPECT_EQ(message_of([&] { Executor(model_, cpu(), {.share = &net_, .engine = engine->get()}); }),
            "executor: 'softmax' cannot share with 'softmax', which runs through another engine");
}

TEST_F(ExecutorErrors, Files) {
  TempDir dir;
  const std::string missing = message_of([&] { net_.load(dir.file("nothing")); });
  EXPECT_EQ(missing, "load: " + dir.file("nothing") + ": No such file or directory");
  HandModel other_model = softmax({.name = "other"});
  Executor other(other_model);
  other.save(dir.file("other"));
  EXPECT_EQ(message_of([&] { net_.load(dir.file("other")); }),
            "load: " + dir.file("other") + ": not a checkpoint of model 'softmax': it is of model 'other'");
  EXPECT_NE(message_of([&] { net_.save(dir.file("no/such/folder")); }).find("save: "), std::string::npos);
}

}  // namespace
}  // namespace mxc
