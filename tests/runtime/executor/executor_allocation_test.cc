// A run asks nobody for memory once runs have gone on for a while: every call of the allocator is counted.
#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "tests/runtime/counted_allocations.h"
#include "tests/runtime/executor/executor_models.h"

namespace mxc {
namespace {

using namespace mxc::test;

TEST(ExecutorAllocation, NoneInARun) {
  const HandModel model = softmax();
  Executor net(model);
  const Samples samples(6);
  net["image"] = samples.images();
  net["label"] = samples.labels();
  const std::pair<const char*, std::function<void()>> runs[] = {{"step", [&] { net.step(); }},
                                                               {"forward_backward", [&] { net.forward_backward(); }},
                                                               {"evaluate", [&] { net.evaluate(); }},
                                                               {"forward", [&] { net.forward(); }}};
  for (const auto& [name, run] : runs) {
    const auto many = [&] {
      for (int i = 0; i < 50; ++i) {
        run();
        net.wait();
      }
    };
    const long first = allocations;
    many();
    ASSERT_GT(allocations, first) << name;  // the count sees what the first ones ask for
    const long before = allocations;
    many();
    EXPECT_EQ(allocations, before) << name;
  }
}

}  // namespace
}  // namespace mxc
