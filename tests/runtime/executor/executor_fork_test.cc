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

constexpr char kLost[] = "the engine does not survive fork: this process is a child of the one that made it";

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
  const int code = in_child([&] {
    x += 1;
    if (message_of([&] { x.wait(); }) != kLost) return 1;
    if (message_of([&] { loss.item<float>(); }) != kLost) return 2;
    net->forward_backward();
    if (message_of([&] { net->loss().item<float>(); }) != kLost) return 3;
    net.reset();
    x = NDArray();
    return 0;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(loss_of(*net, samples), before);
  EXPECT_EQ(floats(x), (std::vector<float>{1, 1, 1}));
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
  const int code = in_child([&] {
    Executor own(model, cpu(), {.seed = 3, .threads = GetParam()});
    return loss_of(own, samples) == before ? 0 : 1;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(loss_of(net, samples), before);
}

}  // namespace
}  // namespace mxc
