#include "runtime/train/picture.h"

#include <gtest/gtest.h>

namespace mxc::train {
namespace {

TEST(Picture, WhatIsOne) {
  EXPECT_TRUE(is_picture({8, 8}));
  EXPECT_TRUE(is_picture({1, 28, 28}));
  EXPECT_TRUE(is_picture({3, 32, 32}));
  EXPECT_FALSE(is_picture({1, 33, 32}));
  EXPECT_FALSE(is_picture({2, 8, 8}));
  EXPECT_FALSE(is_picture({64}));
  EXPECT_FALSE(is_picture({}));
  EXPECT_FALSE(is_picture({1, 64}));
}

TEST(Picture, Shades) {
  EXPECT_EQ(draw_picture({2, 3}, {0, 0.5, 1, 1, 0, 0}), (std::vector<std::string>{"  ++@@", "@@    "}));
  EXPECT_EQ(draw_picture({2, 2}, {-1, 0, 1, 3}), (std::vector<std::string>{"  ::", "++@@"}));
  EXPECT_EQ(draw_picture({2, 2}, {5, 5, 5, 5}), (std::vector<std::string>{"    ", "    "}));  // one shade: blank
  EXPECT_EQ(draw_picture({3, 2, 2}, {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}), (std::vector<std::string>{"@@  ", "    "}));
}

}  // namespace
}  // namespace mxc::train
