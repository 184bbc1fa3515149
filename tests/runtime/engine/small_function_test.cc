// What is held is called, moved and destroyed once, inside or on the heap.
#include "runtime/engine/small_function.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <utility>

namespace mxc::engine {
namespace {

using Small = SmallFunction<int(int), 32>;

// Counts how many of it live.
struct Counted {
  explicit Counted(int* alive) : alive(alive) { ++*alive; }
  Counted(const Counted& other) : alive(other.alive) { ++*alive; }
  Counted(Counted&& other) noexcept : alive(other.alive) { ++*alive; }
  ~Counted() { --*alive; }
  int* alive;
};

TEST(SmallFunction, IsEmptyUntilItHoldsSomething) {
  EXPECT_FALSE(Small());
  EXPECT_FALSE(Small(nullptr));
  EXPECT_FALSE(Small(std::function<int(int)>()));
  EXPECT_FALSE(Small(static_cast<int (*)(int)>(nullptr)));
  EXPECT_TRUE(Small([](int x) { return x; }));
}

TEST(SmallFunction, CallsWhatItHolds) {
  int calls = 0;
  Small small = [&calls](int x) { return ++calls, x + 1; };
  std::array<int, 100> many = {};
  many[99] = 5;
  Small large = [many](int x) { return many[99] * x; };
  Small standard = std::function<int(int)>([](int x) { return -x; });
  EXPECT_EQ(small(1), 2);
  EXPECT_EQ(small(2), 3);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(large(3), 15);
  EXPECT_EQ(standard(4), -4);
}

TEST(SmallFunction, HoldsWhatCannotBeCopied) {
  Small function = [value = std::make_unique<int>(7)](int x) { return *value + x; };
  Small moved = std::move(function);
  EXPECT_FALSE(function);
  EXPECT_EQ(moved(1), 8);
}

template <size_t kPadding>
void check_lifetimes() {
  int alive = 0;
  {
    Small function = [counted = Counted(&alive), padding = std::array<char, kPadding>{}](int x) {
      return *counted.alive * 100 + x + padding[0];
    };
    EXPECT_EQ(alive, 1);
    Small moved = std::move(function);
    EXPECT_EQ(alive, 1);
    EXPECT_EQ(moved(2), 102);
    function = std::move(moved);
    EXPECT_EQ(alive, 1);
    function = Small([](int x) { return x; });
    EXPECT_EQ(alive, 0);
    function = Small([counted = Counted(&alive)](int x) { return x; });
    EXPECT_EQ(alive, 1);
    function.reset();
    EXPECT_EQ(alive, 0);
    function = Small([counted = Counted(&alive), padding = std::array<char, kPadding>{}](int x) { return x + padding[0]; });
  }
  EXPECT_EQ(alive, 0);
}

TEST(SmallFunction, DestroysWhatItHoldsOnce) {
  check_lifetimes<1>();
  check_lifetimes<1000>();
}

}  // namespace
}  // namespace mxc::engine
