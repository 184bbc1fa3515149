// Bundles: contributions to several small keys leave as one, and one value serves them all, once each.
#include "runtime/kv/bundles.h"

#include <gtest/gtest.h>

#include <cstring>

namespace mxc::kv {
namespace {

constexpr plan::DType f32 = plan::DType::f32;

std::string bytes(const std::vector<float>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

// Three keys in one chunk: elements at 0, 64 and 128 bytes.
CommunicationPlan bundled(const Compression& compression = {}) {
  PlanRules rules;
  rules.bundle_below = 1000;
  rules.compression = compression;
  std::vector<Key> keys = {{"a", {2}, f32}, {"b", {1}, f32}, {"c", {3}, f32}};
  for (Key& key : keys) key.compressed = compression.is_on() ? Key::Compressed::contributions : Key::Compressed::nothing;
  absl::StatusOr<CommunicationPlan> plan = make_plan(keys, rules);
  EXPECT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->chunks.size(), 1u);
  return *std::move(plan);
}

TEST(BundledPushes, LeaveWhenTheLastKeyHasCome) {
  const CommunicationPlan plan = bundled();
  const std::vector<Piece>& pieces = plan.chunks[0].pieces;
  BundledPushes pushes(plan);
  const std::string a0 = bytes({1, 2}), a1 = bytes({10, 20}), b0 = bytes({3}), b1 = bytes({30}), c0 = bytes({4, 5, 6}), c1 = bytes({40, 50, 60});
  EXPECT_FALSE(pushes.add(0, pieces[2], 1, {{c0.data(), 7}, {c1.data(), 8}}, -2));
  EXPECT_FALSE(pushes.add(0, pieces[0], 1, {{a0.data(), 7}, {a1.data(), 8}}, 0));
  EXPECT_FALSE(pushes.add(0, pieces[0], 2, {{a0.data(), 7}, {a1.data(), 8}}, 0));  // the next step's are others
  const auto whole = pushes.add(0, pieces[1], 1, {{b0.data(), 7}, {b1.data(), 8}}, -1);
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(whole->weights, (std::vector<uint32_t>{7, 8}));
  EXPECT_EQ(whole->priority, 0);
  const std::string gap_a(64 - 8, '\0'), gap_b(64 - 4, '\0');
  EXPECT_EQ(whole->bytes, (std::vector<Frame>{a0 + gap_a + b0 + gap_b + c0, a1 + gap_a + b1 + gap_b + c1}));
  EXPECT_FALSE(pushes.add(0, pieces[1], 2, {{b0.data(), 7}, {b1.data(), 8}}, -1));
  EXPECT_TRUE(pushes.add(0, pieces[2], 2, {{c0.data(), 7}, {c1.data(), 8}}, -2));
}

// A key that has its chunk for itself: its memory goes along, or a copy of it.
TEST(BundledPushes, WhatIsLentIsNotCopied) {
  absl::StatusOr<CommunicationPlan> plan = make_plan({{"a", {2}, f32}}, {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  const std::string a = bytes({1, 2});
  bool is_back = false;
  auto lent = std::make_shared<Lent>(nullptr);
  lent->when_back([&] { is_back = true; });
  BundledPushes pushes(*plan);
  auto whole = pushes.add(0, plan->chunks[0].pieces[0], 1, {{a.data(), 1, lent}}, 0, /*lends=*/true);
  const auto copied = pushes.add(0, plan->chunks[0].pieces[0], 2, {{a.data(), 1, std::move(lent)}}, 0);
  EXPECT_EQ(whole->bytes[0].data(), a.data());
  EXPECT_NE(copied->bytes[0].data(), a.data());
  EXPECT_EQ(std::string(copied->bytes[0]), a);
  EXPECT_FALSE(is_back);
  whole.reset();
  EXPECT_TRUE(is_back);
}

TEST(BundledPushes, WhatWeighsNothingHasNoBytes) {
  const CommunicationPlan plan = bundled();
  BundledPushes pushes(plan);
  for (size_t key = 0; key < 3; ++key) {
    const auto whole = pushes.add(0, plan.chunks[0].pieces[key], 1, {{nullptr, 0}}, 0);
    EXPECT_EQ(whole.has_value(), key == 2);
    if (whole.has_value()) EXPECT_EQ(whole->bytes, std::vector<Frame>(1));
  }
}

TEST(BundledPushes, CompressedOnesLieOneBehindTheOther) {
  const CommunicationPlan plan = bundled(*parse_compression("fp16"));
  EXPECT_EQ(plan.chunks[0].packed, 2u * (2 + 1 + 3));
  BundledPushes pushes(plan);
  const std::string packed[] = {"aaAA", "bb", "ccCC--"};
  pushes.add(0, plan.chunks[0].pieces[0], 1, {{packed[0].data(), 1}}, 0);
  pushes.add(0, plan.chunks[0].pieces[1], 1, {{packed[1].data(), 1}}, 0);
  EXPECT_EQ(pushes.add(0, plan.chunks[0].pieces[2], 1, {{packed[2].data(), 1}}, 0)->bytes[0], "aaAAbbccCC--");
}

TEST(BundledPulls, OneServesAllOnce) {
  BundledPulls pulls;
  BundledPulls::Answer answer = pulls.want(0, 5, 1, 100);
  EXPECT_TRUE(answer.ask);
  EXPECT_EQ(answer.ticket, 100u);
  answer = pulls.want(0, 6, 1, 101);
  EXPECT_FALSE(answer.ask);  // it is under way
  EXPECT_EQ(answer.ticket, 100u);
  pulls.arrived(0, 1, "one");
  answer = pulls.want(0, 7, 1, 101);
  ASSERT_NE(answer.value, nullptr);
  EXPECT_EQ(*answer.value, "one");
  EXPECT_EQ(answer.version, 1u);
  answer = pulls.want(0, 7, 1, 101);  // who has had it wants what is there now
  EXPECT_TRUE(answer.ask);
  EXPECT_EQ(answer.ticket, 101u);
  EXPECT_TRUE(pulls.want(1, 8, 1, 102).ask);  // another chunk
}

// A key may be a step ahead of its neighbours: then the older value serves them, since the newer one may wait for them.
TEST(BundledPulls, AKeyThatIsAhead) {
  BundledPulls pulls;
  EXPECT_TRUE(pulls.want(0, 5, 1, 100).ask);
  pulls.arrived(0, 1, "one");
  EXPECT_TRUE(pulls.want(0, 5, 2, 101).ask);
  const BundledPulls::Answer behind = pulls.want(0, 6, 1, 102);
  ASSERT_NE(behind.value, nullptr);
  EXPECT_EQ(*behind.value, "one");
  EXPECT_EQ(pulls.want(0, 6, 2, 102).ticket, 101u);  // now it waits for the same
  pulls.arrived(0, 2, "two");
  EXPECT_EQ(*pulls.want(0, 7, 2, 102).value, "two");
}

}  // namespace
}  // namespace mxc::kv
