// The plan of the communication: how keys are cut and bundled, where chunks go, what members must agree on.
#include "runtime/kv/plan.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace mxc::kv {
namespace {

constexpr plan::DType f32 = plan::DType::f32, f64 = plan::DType::f64;

CommunicationPlan planned(const std::vector<Key>& keys, const PlanRules& rules = {}) {
  absl::StatusOr<CommunicationPlan> plan = make_plan(keys, rules);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *std::move(plan);
}

// Every element of every key lies in one piece, pieces do not overlap in their chunks.
void expect_whole(const CommunicationPlan& plan) {
  for (uint32_t key = 0; key < plan.keys.size(); ++key) {
    int64_t next = 0, elements = 1;
    for (int64_t extent : plan.keys[key].shape) elements *= extent;
    for (uint32_t chunk : plan.of_key[key])
      for (const Piece& piece : plan.chunks[chunk].pieces)
        if (piece.key == key) {
          EXPECT_EQ(piece.first, next);
          next += piece.count;
        }
    EXPECT_EQ(next, elements) << plan.keys[key].name;
  }
  for (const Chunk& chunk : plan.chunks) {
    const int64_t width = chunk.dtype == f64 ? 8 : 4;
    int64_t end = 0;
    for (const Piece& piece : chunk.pieces) {
      EXPECT_GE(piece.at, end);
      EXPECT_EQ(piece.at % 64, 0u);
      end = piece.at + piece.count * width;
    }
    EXPECT_EQ(end, chunk.bytes);
  }
}

TEST(Plan, AKeyBesideAnotherLiesWhereThatLies) {
  const PlanRules rules = {.servers = 3, .bundle_below = 1 << 20};
  const Key large = {"w", {1'000'000}, f32}, small = {"b", {10}, f32};
  const CommunicationPlan plan = planned({large, small, {"w/mean", {1'000'000}, f32, 0}, {"w/variance", {1'000'000}, f32, 0}, {"b/mean", {10}, f32, 1}}, rules);
  expect_whole(plan);
  ASSERT_GT(plan.of_key[0].size(), 3u);
  for (uint32_t key : {0u, 1u}) {
    for (size_t i = 0; i < plan.of_key[key].size(); ++i) {
      const Chunk& chunk = plan.chunks[plan.of_key[key][i]];
      const std::vector<uint32_t> expected = key == 0 ? std::vector<uint32_t>{plan.of_key[2][i], plan.of_key[3][i]} : std::vector<uint32_t>{plan.of_key[4][i]};
      EXPECT_EQ(chunk.beside, expected);
      for (uint32_t beside : chunk.beside) {
        EXPECT_EQ(plan.chunks[beside].server, chunk.server);
        EXPECT_EQ(plan.chunks[beside].pieces.front().first, chunk.pieces.front().first);
        EXPECT_EQ(plan.chunks[beside].pieces.front().count, chunk.pieces.front().count);
      }
    }
  }
  EXPECT_NE(plan.hash, planned({large, small, {"w/mean", {1'000'000}, f32, 0}, {"w/variance", {1'000'000}, f32, 0}, {"b/mean", {10}, f32}}, rules).hash);
  const auto wrong = [](const Key& key, const Key& beside) { return std::string(make_plan({key, beside}, {}).status().message()); };
  EXPECT_EQ(wrong(small, {"s", {11}, f32, 0}), "key 's' does not match the one that it lies beside");
  EXPECT_EQ(wrong(small, {"s", {10}, f64, 0}), "key 's' does not match the one that it lies beside");
  EXPECT_EQ(wrong(small, {"s", {10}, f32, 1}), "key 's' does not match the one that it lies beside");
}

TEST(Plan, SmallKeysStayWhole) {
  const CommunicationPlan plan = planned({{"w", {500, 100}, f32}, {"b", {100}, f64}});
  ASSERT_EQ(plan.chunks.size(), 2u);
  EXPECT_EQ(plan.chunks[0].bytes, 200'000u);
  EXPECT_EQ(plan.chunks[1].bytes, 800u);
  expect_whole(plan);
}

// 1 MiB over one server: 24 pieces would be 43,691 bytes each, below the least of 64 KiB.
TEST(Plan, LargeKeysAreCutAlignedTo64Bytes) {
  const CommunicationPlan plan = planned({{"w", {262'144 + 5}, f32}});
  ASSERT_EQ(plan.chunks.size(), 17u);
  for (size_t i = 0; i + 1 < 17; ++i) EXPECT_EQ(plan.chunks[i].bytes % 64, 0u);
  for (const Chunk& chunk : plan.chunks) EXPECT_LE(chunk.bytes, 64u << 10);
  expect_whole(plan);
}

TEST(Plan, PiecesOfHugeKeysAreAtMostAQuarterOfAMebibyte) {
  const CommunicationPlan plan = planned({{"w", {64 << 20}, f32}}, {.servers = 2, .workers = 2, .shards = 2});
  EXPECT_EQ(plan.chunks.size(), 1024u);
  for (const Chunk& chunk : plan.chunks) EXPECT_EQ(chunk.bytes, 256u << 10);
}

TEST(Plan, BundlesOfSmallNeighboursAreOneChunk) {
  const CommunicationPlan plan = planned(
      {{"a", {10}, f32}, {"b", {20}, f32}, {"c", {30}, f64}, {"d", {5000}, f32}, {"e", {1}, f32}}, {.bundle_below = 16 << 10});
  ASSERT_EQ(plan.chunks.size(), 4u);
  EXPECT_EQ(plan.chunks[0].pieces.size(), 2u);  // a and b
  EXPECT_EQ(plan.chunks[0].bytes, 64u + 80u);
  EXPECT_EQ(plan.chunks[1].pieces.size(), 1u);  // c is of another dtype
  EXPECT_EQ(plan.chunks[2].pieces.size(), 1u);  // d is too large, and has no room for e
  expect_whole(plan);
}

TEST(Plan, WithoutBundlingEachKeyIsAlone) { EXPECT_EQ(planned({{"a", {10}, f32}, {"b", {20}, f32}}).chunks.size(), 2u); }

TEST(Plan, WhatIsUsedFirstGoesFirst) {
  const CommunicationPlan plan = planned({{"first", {100'000}, f32}, {"last", {3}, f32}});
  for (uint32_t chunk : plan.of_key[0]) EXPECT_GT(plan.chunks[chunk].priority, plan.chunks[plan.of_key[1][0]].priority);
}

// The 161 arrays of ResNet-50 (He et al. 2015): weights of convolutions, two arrays a batch norm, the classifier.
std::vector<Key> resnet50() {
  std::vector<Key> keys;
  auto add = [&](std::vector<int64_t> shape) { keys.push_back({"k" + std::to_string(keys.size()), std::move(shape), f32}); };
  auto convolution = [&](int64_t in, int64_t out, int64_t size) {
    add({out, in, size, size});
    add({out});
    add({out});
  };
  convolution(3, 64, 7);
  int64_t in = 64;
  const int64_t blocks[] = {3, 4, 6, 3};
  for (int64_t stage = 0; stage < 4; ++stage) {
    const int64_t width = 64 << stage;
    for (int64_t block = 0; block < blocks[stage]; ++block) {
      if (block == 0) convolution(in, 4 * width, 1);
      convolution(in, width, 1);
      convolution(width, width, 3);
      convolution(width, 4 * width, 1);
      in = 4 * width;
    }
  }
  add({1000, 2048});
  add({1000});
  return keys;
}

TEST(Plan, ServersShareResnet50Evenly) {
  const std::vector<Key> keys = resnet50();
  ASSERT_EQ(keys.size(), 161u);
  for (int64_t servers : {1, 2, 3, 8, 64}) {
    const CommunicationPlan plan = planned(keys, {.servers = servers, .workers = servers, .shards = servers});
    int64_t most = 0, total = 0;
    for (uint32_t server = 0; server < servers; ++server) {
      most = std::max(most, plan.bytes_of_server(server));
      total += plan.bytes_of_server(server);
    }
    EXPECT_EQ(total, 25'557'032 * 4);  // parameters that the paper's network has
    EXPECT_LE(static_cast<double>(most), 1.05 * static_cast<double>(total) / static_cast<double>(servers)) << servers;
    expect_whole(plan);
  }
}

TEST(Plan, TheHashIsOfAllThatMembersMustAgreeOn) {
  const std::vector<Key> keys = {{"w", {300, 400}, f32}, {"b", {4}, f32}};
  const uint64_t hash = planned(keys).hash;
  EXPECT_EQ(planned(keys).hash, hash);
  EXPECT_NE(planned({keys[1], keys[0]}).hash, hash);
  EXPECT_NE(planned({{"v", {300, 400}, f32}, keys[1]}).hash, hash);
  EXPECT_NE(planned({{"w", {400, 300}, f32}, keys[1]}).hash, hash);
  EXPECT_NE(planned({{"w", {300, 400}, plan::DType::i32}, keys[1]}).hash, hash);
  EXPECT_NE(planned(keys, {.servers = 2}).hash, hash);
  EXPECT_NE(planned(keys, {.shards = 2}).hash, hash);
  EXPECT_NE(planned(keys, {.consistency = "async"}).hash, hash);
  EXPECT_NE(planned(keys, {.cut_above = 1024, .smallest_piece = 1024}).hash, hash);
}

TEST(Plan, ServersAreSpreadOverTheRanks) {
  const std::vector<Key> keys = {{"w", {10}, f32}};
  for (const auto& [workers, ranks] : std::vector<std::pair<int64_t, std::vector<uint32_t>>>{
           {1, {0}}, {4, {0}}, {8, {0, 4}}, {4, {0, 1, 2, 3}}, {4, {0, 1, 2}}, {7, {0, 2, 4}}, {6, {0, 2, 4}}}) {
    const CommunicationPlan plan = planned(keys, {.servers = static_cast<int64_t>(ranks.size()), .workers = workers, .shards = workers});
    for (uint32_t rank = 0; rank < workers; ++rank) {
      const auto found = std::find(ranks.begin(), ranks.end(), rank);
      EXPECT_EQ(plan.server_of_rank(rank), found == ranks.end() ? std::nullopt : std::optional<uint32_t>(found - ranks.begin())) << rank;
    }
    for (uint32_t server = 0; server < ranks.size(); ++server) EXPECT_EQ(plan.rank_of_server(server), ranks[server]);
  }
}

TEST(Plan, AnEmptyArrayIsAChunkOfNothing) {
  const CommunicationPlan plan = planned({{"none", {0, 3}, f32}});
  ASSERT_EQ(plan.chunks.size(), 1u);
  EXPECT_EQ(plan.chunks[0].bytes, 0u);
}

TEST(Plan, LimitsOfMessages) {
  const CommunicationPlan plan = planned({{"w", {10}, f32}, {"b", {4}, f64}}, {.servers = 2, .workers = 2, .shards = 6});
  const Limits limits = plan.limits(7);
  EXPECT_EQ(limits.job, 7u);
  EXPECT_EQ(limits.members, 2u);
  EXPECT_EQ(limits.chunk_bytes, (std::vector<uint32_t>{40, 32}));
  EXPECT_EQ(limits.parts, 2u);  // shards 0, 1 and 2 are a node of two and one of one
}

TEST(Plan, SaysWhichKeyIsWrong) {
  auto refusal = [](const std::vector<Key>& keys) { return std::string(make_plan(keys, {}).status().message()); };
  EXPECT_EQ(refusal({{"", {1}, f32}}), "a key has no name");
  EXPECT_EQ(refusal({{"w", {1}, f32}, {"w", {2}, f32}}), "two keys are called 'w'");
  EXPECT_EQ(refusal({{"h", {1}, plan::DType::u8}}), "key 'h' is u8: arrays of f16, bf16, f32, f64, i32 and i64 are added");
  EXPECT_EQ(refusal({{"x", {int64_t{1} << 40, 2}, f32}}), "key 'x' is too large");
}

// Small keys travel together with what lies beside them, in the same places.
TEST(Plan, BundlesHaveWhatLiesBesideTheirKeys) {
  PlanRules rules;
  rules.servers = 2;
  rules.bundle_below = 1 << 10;
  std::vector<Key> keys = {{"a", {10}, f32}, {"b", {20}, f32}, {"other", {5}, f32}, {"alone", {5}, f32}};
  keys[3].alone = true;
  for (uint32_t of : {0u, 1u})
    for (const char* slot : {"/mean", "/variance"}) keys.push_back({keys[of].name + slot, keys[of].shape, f32, of});
  const CommunicationPlan plan = planned(keys, rules);
  expect_whole(plan);
  // a and b; other, which has nothing beside it; alone; the means of a and b; their variances.
  ASSERT_EQ(plan.chunks.size(), 5u);
  const Chunk& bundle = plan.chunks[plan.of_key[0][0]];
  EXPECT_EQ(plan.of_key[1], plan.of_key[0]);
  ASSERT_EQ(bundle.beside.size(), 2u);
  for (uint32_t slot : {0u, 1u}) {
    const Chunk& beside = plan.chunks[bundle.beside[slot]];
    EXPECT_EQ(beside.server, bundle.server);
    EXPECT_EQ(beside.bytes, bundle.bytes);
    ASSERT_EQ(beside.pieces.size(), 2u);
    for (uint32_t of : {0u, 1u}) {
      EXPECT_EQ(beside.pieces[of].key, 4 + 2 * of + slot);
      EXPECT_EQ(beside.pieces[of].at, bundle.pieces[of].at);
    }
  }
  EXPECT_EQ(plan.chunks[plan.of_key[2][0]].pieces.size(), 1u);
  EXPECT_EQ(plan.chunks[plan.of_key[3][0]].pieces.size(), 1u);
}

TEST(Plan, KeysMayStayWhole) {
  PlanRules rules;
  rules.servers = 2;
  rules.cut_above = INT64_MAX;
  EXPECT_EQ(planned({{"w", {1'000'000}, f32}, {"v", {1'000'000}, f32}}, rules).chunks.size(), 2u);
  EXPECT_EQ(make_plan({{"w", {1 << 28, 2}, f32}}, rules).status().message(), "key 'w' is too large to stay whole: at most 1 GiB");
}

TEST(Plan, CompressedArraysAreCutBetweenBlocks) {
  PlanRules rules;
  rules.servers = 3;
  rules.compression = *parse_compression("2bit");
  Key large = {"w", {1'000'000}, f32}, small = {"b", {10}, f32}, plain = {"p", {100'000}, f32};
  large.compressed = small.compressed = Key::Compressed::contributions;
  const CommunicationPlan plan = planned({large, small, plain}, rules);
  expect_whole(plan);
  ASSERT_GT(plan.of_key[0].size(), 3u);
  int64_t packed = 0;
  for (uint32_t chunk : plan.of_key[0]) {
    EXPECT_EQ(plan.chunks[chunk].pieces[0].first % kBlock, 0);
    packed += plan.chunks[chunk].packed;
  }
  EXPECT_EQ(packed, packed_bytes(rules.compression, f32, 1'000'000));
  EXPECT_EQ(plan.chunks[plan.of_key[1][0]].packed, 4u + 3u);
  for (uint32_t chunk : plan.of_key[2]) EXPECT_EQ(plan.chunks[chunk].packed, 0u);
  PlanRules others = rules;
  others.compression = *parse_compression("fp16");
  EXPECT_NE(planned({large, small, plain}, others).hash, plan.hash);
  Key numbers = {"n", {4}, plan::DType::i32};
  numbers.compressed = Key::Compressed::contributions;
  EXPECT_EQ(make_plan({numbers}, rules).status().message(), "key 'n': arrays of f32 and f64 are compressed");
}

}  // namespace
}  // namespace mxc::kv
