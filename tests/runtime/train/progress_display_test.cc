#include "runtime/train/progress_display.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

namespace mxc::train {
namespace {

// What a display writes while `use` runs.
template <typename Use>
std::string written(bool terminal, Use use) {
  char* text = nullptr;
  size_t bytes = 0;
  FILE* out = open_memstream(&text, &bytes);
  {
    ProgressDisplay display(out, terminal, {"loss"}, {"loss", "accuracy"});
    use(display);
  }
  std::fclose(out);
  const std::string result(text, bytes);
  std::free(text);
  return result;
}

TEST(ProgressDisplay, Table) {
  const std::string text = written(false, [](ProgressDisplay& display) {
    display.epoch_starts();
    display.epoch_ends(0, {{1.25}, {1.5, 0.75}});
    display.epoch_ends(1, {{0.5}, {0.25, 1}});
    display.say("saved x");
  });
  EXPECT_EQ(text,
            "epoch    train loss     test loss  test accuracy   seconds\n"
            "    1        1.2500        1.5000         0.7500      0.00\n"
            "    2        0.5000        0.2500         1.0000      0.00\n"
            "saved x\n");
}

TEST(ProgressDisplay, WithoutTestData) {
  const std::string text = written(false, [](ProgressDisplay& display) { display.epoch_ends(0, {{1.25}, {}}); });
  EXPECT_EQ(text, "epoch    train loss   seconds\n    1        1.2500      0.00\n");
}

// The live line appears on a terminal alone, and is cleared before anything else is written.
TEST(ProgressDisplay, LiveLine) {
  const auto use = [](ProgressDisplay& display) {
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
    display.step(1, 3, 50, 200, 50, {0.5});
    display.say("x");
  };
  EXPECT_EQ(written(false, use), "x\n");
  const std::string live = written(true, use);
  EXPECT_EQ(live.rfind("epoch 2/3  25%  ", 0), 0u) << live;
  EXPECT_NE(live.find(" samples/s  loss 0.5000  left "), std::string::npos) << live;
  EXPECT_EQ(live.substr(live.size() - 6), "\r\033[Kx\n");
}

TEST(Duration, Text) {
  EXPECT_EQ(duration_text(0), "0 s");
  EXPECT_EQ(duration_text(59.4), "59 s");
  EXPECT_EQ(duration_text(185), "3:05");
  EXPECT_EQ(duration_text(7807), "2:10:07");
}

}  // namespace
}  // namespace mxc::train
