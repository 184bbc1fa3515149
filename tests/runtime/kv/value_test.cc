// What has been told stays as it was, whatever becomes of the value.
#include "runtime/kv/value.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

namespace mxc::kv {
namespace {

constexpr size_t kSize = 1000;

void fill(std::span<char> room, char with) { std::ranges::fill(room, with); }
std::string all(char of) { return std::string(kSize, of); }

TEST(Value, WhatIsChangedStaysWhereItIs) {
  Value value(kSize);
  const char* place = value.bytes().data();
  fill(value.changed(), 'a');
  const Summed told = value.told(), again = value.told();
  EXPECT_EQ(told.frame.data(), again.frame.data());
  value.changed()[0] = 'b';
  EXPECT_EQ(value.bytes().data(), place);
  EXPECT_EQ(std::string(told.frame), all('a'));
  EXPECT_EQ(std::string(value.told().frame), "b" + all('a').substr(1));
}

TEST(Value, WhatIsReplacedIsToldWithoutACopy) {
  Value value(kSize);
  fill(value.replaced(), 'a');
  const Summed told = value.told();
  EXPECT_EQ(told.frame.data(), value.bytes().data());
  EXPECT_EQ(value.told().frame.data(), told.frame.data());
  fill(value.replaced(), 'b');
  EXPECT_EQ(std::string(told.frame), all('a'));
  EXPECT_EQ(value.bytes(), all('b'));
  const Summed next = value.told();
  value.changed()[0] = 'c';
  EXPECT_EQ(std::string(next.frame), all('b'));
  EXPECT_EQ(value.bytes(), "c" + all('b').substr(1));
}

// Memory: one more than those that are read at once.
TEST(Value, RoomIsUsedAgain) {
  Value value(kSize);
  std::set<const char*> rooms;
  Summed before;
  for (int step = 0; step < 100; ++step) {
    fill(value.replaced(), static_cast<char>(step));
    const Summed told = value.told();
    rooms.insert(told.frame.data());
    EXPECT_EQ(std::string(told.frame), all(static_cast<char>(step)));
    if (step > 0) EXPECT_EQ(std::string(before.frame), all(static_cast<char>(step - 1)));
    before = told;
  }
  EXPECT_LE(rooms.size(), 3u);
}

// ThreadSanitizer sees whether who writes next knows that the reader has ended.
TEST(Value, AnyThreadMayLetGo) {
  Value value(kSize);
  std::vector<std::jthread> readers;
  for (int step = 0; step < 200; ++step) {
    const char letter = static_cast<char>(step);
    fill(value.replaced(), letter);
    readers.emplace_back([frame = value.told().frame, letter]() mutable {
      EXPECT_EQ(std::string(frame), all(letter));
      frame = Frame();
    });
    if (step % 2 == 0) readers.back().join();
  }
}

}  // namespace
}  // namespace mxc::kv
