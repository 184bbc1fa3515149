// A program with executors forks: the child is told that what it inherited does not run, can destroy it and make its own; the parent notices
// nothing.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "tests/runtime/executor/executor_models.h"
#include "tests/runtime/forked.h"

namespace mxc {
namespace {

using namespace mxc::test;

constexpr char kArray[] = ": the array was made before fork() and stays with the parent process: read values before forking, make arrays anew here";
constexpr char kExecutor[] = "the executor of 'softmax' was made before fork() and stays with the parent process: make another one here";

float loss_of(Executor& net, const Samples& samples) {
  net["image"] = samples.images();
  net["label"] = samples.labels();
  net.forward_backward();
  return net.loss().item<float>();
}

class ExecutorFork : public testing::TestWithParam<int> {};  // threads that compute together
INSTANTIATE_TEST_SUITE_P(Threads, ExecutorFork, testing::Values(1, 3));

TEST_P(ExecutorFork, TheChildIsToldAndCanDestroyWhatItInherited) {
  HandModel model = softmax();
  const Samples samples(6);
  auto net = std::make_unique<Executor>(model, cpu(), ExecutorOptions{.threads = GetParam()});
  NDArray x = NDArray::ones({3});
  const float before = loss_of(*net, samples);
  const NDArray loss = net->loss();
  loss.wait();
  net->forward_backward();  // may be running at the fork
  NDArray product = 0.5f * x;  // not queued yet
  Entry image = (*net)["image"];
  const NDArray images = samples.images();  // the child makes no array, and so no engine
  const int code = in_child([&] {
    const std::string array = kArray;
    if (message_of([&] { x += 1; }) != "add" + array) return 1;
    if (message_of([&] { x.wait(); }) != "wait" + array) return 2;
    if (message_of([&] { loss.item<float>(); }) != "item" + array) return 3;
    if (message_of([&] { product.wait(); }) != "wait" + array) return 4;
    if (message_of([&] { x.fill(0); }) != "fill" + array) return 5;
    if (message_of([&] { net->forward_backward(); }) != kExecutor) return 6;
    if (message_of([&] { image = images; }) != kExecutor) return 7;
    if (message_of([&] { net->loss(); }) != kExecutor) return 8;
    if (message_of([&] { net->wait(); }) != kExecutor) return 9;
    if (x.shape() != Extents{3} || product.size() != 3) return 10;  // facts stay
    net.reset();
    x = product = NDArray();
    return 0;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(loss_of(*net, samples), before);
  EXPECT_EQ(floats(x), (std::vector<float>{1, 1, 1}));
  EXPECT_EQ(floats(product), (std::vector<float>{0.5, 0.5, 0.5}));
}

// With all that a program does at its end.
TEST_P(ExecutorFork, TheChildCanEnd) {
  HandModel model = softmax();
  const Samples samples(6);
  Executor net(model, cpu(), {.threads = GetParam()});
  const float before = loss_of(net, samples);
  EXPECT_EQ(in_child([]() -> int { std::exit(7); }), 7);
  EXPECT_EQ(loss_of(net, samples), before);
}

TEST_P(ExecutorFork, TheChildMakesItsOwn) {
#ifdef MXC_THREAD_SANITIZER
  GTEST_SKIP() << "ThreadSanitizer allows no threads in the child of a process with threads";
#endif
  HandModel model = softmax();
  const Samples samples(6);
  Executor net(model, cpu(), {.seed = 3, .threads = GetParam()});
  const float before = loss_of(net, samples);
  const NDArray product = 0.5f * NDArray::ones({3});
  const int code = in_child([&] {
    Executor own(model, cpu(), {.seed = 3, .threads = GetParam()});
    const Samples anew(6);
    if (loss_of(own, anew) != before) return 1;
    const NDArray y = 0.5f * NDArray::ones({2});
    wait_all();  // what the parent holds back stays with it
    return floats(y) == std::vector<float>{0.5, 0.5} ? 0 : 2;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(loss_of(net, samples), before);
}

}  // namespace
}  // namespace mxc
