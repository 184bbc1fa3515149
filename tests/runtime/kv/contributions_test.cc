// Sums, made block by block, against whole arrays that are added node by node.
#include "runtime/kv/contributions.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/kv/add.h"

namespace mxc::kv {
namespace {

// More than a block, and not a whole number of them.
constexpr size_t kCount = 10'007;

std::string numbers(size_t count, std::mt19937& random) {
  std::string bytes;
  for (size_t i = 0; i < count; ++i) {
    const float number = std::normal_distribution<float>(0, 100)(random);
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  return bytes;
}

std::string plus(std::string left, const std::string& right) {
  add_into(plan::DType::f32, left, right);
  return left;
}

struct Given {
  Node part;
  std::string bytes;
  uint64_t weight = 1;
};

// The sum and what it weighs.
std::pair<std::string, uint64_t> sum(Node node, const std::vector<Given>& given) {
  std::vector<Contribution> contributions;
  for (const Given& one : given) contributions.push_back({one.bytes, one.weight});
  Summands summands;
  for (size_t i = 0; i < given.size(); ++i) summands.add(given[i].part, &contributions[i]);
  std::string into(4 * kCount, '\x7f');
  const uint64_t weight = summands.weight(node);
  if (weight > 0) summands.sum(node, plan::DType::f32, into);
  return {into, weight};
}

TEST(Contributions, AreAddedByTheTreeOverShards) {
  std::mt19937 random(1);
  const std::string a = numbers(kCount, random), b = numbers(kCount, random), c = numbers(kCount, random), d = numbers(kCount, random), e = numbers(kCount, random);
  const std::string expected = plus(plus(plus(a, b), plus(c, d)), e);
  EXPECT_EQ(sum({0, 5}, {{{4, 5}, e}, {{1, 2}, b}, {{0, 1}, a}, {{3, 4}, d}, {{2, 3}, c}}), std::pair(expected, uint64_t{5}));
  EXPECT_EQ(sum({0, 5}, {{{0, 2}, plus(a, b), 2}, {{2, 4}, plus(c, d), 2}, {{4, 5}, e}}), std::pair(expected, uint64_t{5}));
  EXPECT_EQ(sum({2, 4}, {{{0, 1}, a}, {{1, 2}, b}, {{2, 3}, c}, {{3, 4}, d, 7}}), std::pair(plus(c, d), uint64_t{8}));
  EXPECT_NE(plus(plus(plus(plus(a, b), c), d), e), expected) << "the order makes no difference to these numbers";
}

TEST(Contributions, WhatWeighsNothingIsLeftOut) {
  std::mt19937 random(2);
  const std::string a = numbers(kCount, random), c = numbers(kCount, random), d = numbers(kCount, random);
  EXPECT_EQ(sum({0, 4}, {{{0, 1}, a}, {{1, 2}, "", 0}, {{2, 3}, c}, {{3, 4}, d}}), std::pair(plus(a, plus(c, d)), uint64_t{3}));
  EXPECT_EQ(sum({0, 4}, {{{0, 2}, "", 0}, {{2, 3}, a, 0}, {{3, 4}, d}}), std::pair(d, uint64_t{1}));
  EXPECT_EQ(sum({0, 2}, {{{0, 1}, "", 0}, {{1, 2}, "", 0}}), std::pair(std::string(4 * kCount, '\x7f'), uint64_t{0}));
}

}  // namespace
}  // namespace mxc::kv
