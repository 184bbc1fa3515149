// The wire format against bytes made by hand, and the parser against everything that is wrong.
#include "runtime/kv/wire.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "runtime/kv/crc32c.h"
#include "tests/runtime/kv/mutate.h"

namespace mxc::kv {
namespace {

constexpr uint64_t kJob = 0x1122334455667788;
const Limits kLimits = {kJob, 4, {16, 64, 8}, 2};

std::string from_hex(const std::string& text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); i += 2) bytes += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  return bytes;
}

// A push of worker 1: chunk 2, part 1, step 41, weight 5, and eight bytes. Put together field by field, with checksums taken bit by bit.
const std::string kPushHeader = from_hex(
    "4d584b56010015008877665544332211030000000100000033221100ddccbbaa02000000010000002900000000000000000000000000000005000000080000"
    "00"
    "811f8946e4cff68c");
const std::string kPushPayload = from_hex("0102030405060708");
const Header kPush = {Type::push, kJob, 3, 1, 0xaabbccdd00112233, 2, 1, 41, 0, 5};

absl::StatusOr<Message> parse(std::vector<std::string_view> frames, const Limits& limits = kLimits) {
  return kv::parse(frames, limits);
}

// With the header's checksum put right.
std::string changed(std::string frame, size_t at, char value) {
  frame[at] = value;
  const uint32_t sum = crc32c(frame.data(), 68);
  for (size_t i = 0; i < 4; ++i) frame[68 + i] = static_cast<char>(sum >> (8 * i));
  return frame;
}

std::string refusal(std::vector<std::string_view> frames, const Limits& limits = kLimits) {
  absl::StatusOr<Message> message = parse(std::move(frames), limits);
  return message.ok() ? "accepted" : std::string(message.status().message());
}

TEST(Wire, WritesTheBytesThatAreSpecified) { EXPECT_EQ(header_frame(kPush, kPushPayload), kPushHeader); }

TEST(Wire, ReadsTheBytesThatAreSpecified) {
  absl::StatusOr<Message> message = parse({kPushHeader, kPushPayload});
  ASSERT_TRUE(message.ok()) << message.status();
  EXPECT_EQ(message->header, kPush);
  EXPECT_EQ(message->payload, kPushPayload);
}

TEST(Wire, AMessageWithoutAPayloadIsOneFrame) {
  const Header header = {Type::committed, kJob, 0, 3, 7, 1, 0, 9, 0, 0};
  absl::StatusOr<Message> message = parse({header_frame(header, "")});
  ASSERT_TRUE(message.ok()) << message.status();
  EXPECT_EQ(message->header, header);
  EXPECT_EQ(message->payload, "");
}

TEST(Wire, EveryTypeSurvivesTheWay) {
  std::set<std::string> names;
  int types = 0;
  for (int number = 0; number < 256; ++number) {
    const auto type = static_cast<Type>(number);
    if (std::string(name_of(type)) == "none") continue;
    ++types;
    names.insert(name_of(type));
    const Header header = {type, kJob, 1, 2, 3, 0, 0, 5, 6, 0};
    for (const std::string& payload : {std::string(), std::string("text"), std::string(16, 'x')}) {
      std::vector<std::string_view> frames;
      const std::string frame = header_frame(header, payload);
      frames.push_back(frame);
      if (!payload.empty()) frames.push_back(payload);
      absl::StatusOr<Message> message = parse(frames);
      if (message.ok()) EXPECT_EQ(message->header, header);
    }
  }
  EXPECT_EQ(types, 27);
  EXPECT_EQ(names.size(), 27u);
}

TEST(Wire, SaysWhatIsWrong) {
  const std::string_view header = kPushHeader, payload = kPushPayload;
  EXPECT_EQ(refusal({}), "a message has one frame or two");
  EXPECT_EQ(refusal({header, payload, payload}), "a message has one frame or two");
  EXPECT_EQ(refusal({header.substr(1), payload}), "the header has another size");
  EXPECT_EQ(refusal({changed(kPushHeader, 0, 'N'), payload}), "the header does not begin with MXKV");
  EXPECT_EQ(refusal({changed(kPushHeader, 4, 2), payload}), "version 2 of the wire format: this program speaks 1");
  std::string torn = kPushHeader;
  torn[40] ^= 1;
  EXPECT_EQ(refusal({torn, payload}), "the header's checksum is wrong");
  EXPECT_EQ(refusal({changed(kPushHeader, 6, 99), payload}), "there is no such type");
  EXPECT_EQ(refusal({changed(kPushHeader, 7, 1), payload}), "there is no such codec");
  EXPECT_EQ(refusal({changed(kPushHeader, 8, 0), payload}), "it is of another job");
  EXPECT_EQ(refusal({changed(kPushHeader, 20, 4), payload}), "its sender is no member");
  EXPECT_EQ(refusal({changed(kPushHeader, 32, 3), payload}), "there is no such chunk");
  EXPECT_EQ(refusal({changed(kPushHeader, 36, 2), payload}), "there is no such part");
  EXPECT_EQ(refusal({changed(kPushHeader, 32, 1), payload}), "its payload has not the chunk's size");
  EXPECT_EQ(refusal({header}), "its frames are not as many as its header says");
  EXPECT_EQ(refusal({header, payload.substr(1)}), "its payload has not the size that its header says");
  EXPECT_EQ(refusal({header, "12345678"}), "the payload's checksum is wrong");
  const Header pull = {Type::pull, kJob, 0, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(refusal({header_frame(pull, "1"), "1"}), "it has a payload, and its type has none");
  const Header barrier = {Type::barrier, kJob, 0, 0, 0, 1, 0, 0, 0, 0};
  EXPECT_EQ(refusal({header_frame(barrier, "")}), "there is no such chunk");
  const Header join = {Type::join, kJob, 0, 0, 0, 0, 0, 0, 0, 0};
  const std::string long_text(kMostText + 1, 'x');
  EXPECT_EQ(refusal({header_frame(join, long_text), long_text}), "its text is too long");
}

TEST(Wire, APayloadMayGoWithoutASum) {
  const std::string frame = header_frame_without_sum(kPush, kPushPayload.size());
  absl::StatusOr<Message> message = parse({frame, kPushPayload});
  ASSERT_TRUE(message.ok()) << message.status();
  EXPECT_EQ(message->header, kPush);
  EXPECT_EQ(message->payload, kPushPayload);
  EXPECT_FALSE(message->is_summed);
  EXPECT_EQ(refusal({changed(frame, 64, 1), kPushPayload}), "the payload's checksum is wrong");
  EXPECT_EQ(refusal({changed(frame, 7, 0x81), kPushPayload}), "there is no such codec");
}

// Of a chunk that the plan compresses: what is pushed and what comes back; and a contribution that weighs nothing needs no bytes.
TEST(Wire, CompressedPayloads) {
  Limits limits = kLimits;
  limits.packed_bytes.assign(limits.chunk_bytes.size(), 0);
  limits.packed_bytes[1] = 3;
  const auto verdict = [&](const Header& header, const std::string& payload) {
    const std::string frame = header_frame(header, payload);
    std::vector<std::string_view> frames = {frame};
    if (!payload.empty()) frames.push_back(payload);
    const absl::StatusOr<Message> message = kv::parse(frames, limits);
    if (message.ok()) EXPECT_EQ(message->header, header);
    return message.ok() ? std::string("accepted") : std::string(message.status().message());
  };
  for (Type type : {Type::push, Type::value}) {
    EXPECT_EQ(verdict({type, kJob, 0, 0, 0, 1, 0, 1, 0, 1, 1}, "abc"), "accepted");
    EXPECT_EQ(verdict({type, kJob, 0, 0, 0, 1, 0, 1, 0, 1, 1}, "abcd"), "its payload has not the compressed chunk's size");
    EXPECT_EQ(verdict({type, kJob, 0, 0, 0, 1, 0, 1, 0, 1, 2}, "abc"), "there is no such codec");
    EXPECT_EQ(verdict({type, kJob, 0, 0, 0, 0, 0, 1, 0, 1, 1}, "abc"), "there is no such codec");  // that chunk is not compressed
  }
  EXPECT_EQ(verdict({Type::init, kJob, 0, 0, 0, 1, 0, 0, 0, 0, 1}, "abc"), "there is no such codec");
  EXPECT_EQ(verdict({Type::pull, kJob, 0, 0, 0, 1, 0, 0, 0, 0, 1}, ""), "there is no such codec");
  EXPECT_EQ(verdict({Type::push, kJob, 0, 0, 0, 1, 0, 1, 0, 0, 0}, ""), "accepted");
  EXPECT_EQ(verdict({Type::push, kJob, 0, 0, 0, 1, 0, 1, 0, 5, 0}, ""), "its payload has not the chunk's size");
}

TEST(Wire, TheSchedulerIsASender) {
  const Header header = {Type::alive, kJob, 0, kScheduler, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(refusal({header_frame(header, "")}), "accepted");
}

TEST(Wire, TheLargestFrameComesFromThePlan) {
  EXPECT_EQ(kLimits.largest(), kMostText);
  EXPECT_EQ((Limits{1, 1, {1 << 20, 64}, 1}.largest()), 1u << 20);
}

using Frames = std::vector<std::string>;

// What corpus/types.txt says.
Limits corpus_limits() {
  Limits limits = kLimits;
  limits.packed_bytes = {0, 3, 0};
  return limits;
}

// Lines of a file in the corpus: a type, if it has such, and frames.
std::vector<std::pair<std::string, Frames>> corpus(const std::string& file, bool has_types) {
  std::ifstream lines(MXC_CORPUS "/" + file);
  std::vector<std::pair<std::string, Frames>> inputs;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    auto& [type, frames] = inputs.emplace_back();
    if (has_types) words >> type;
    std::replace(type.begin(), type.end(), '_', ' ');
    for (std::string word; words >> word;) frames.push_back(word == "-" ? "" : from_hex(word));
  }
  return inputs;
}

TEST(WireCorpus, HasAMessageOfEachType) {
  std::set<std::string> types;
  for (const auto& [type, frames] : corpus("types.txt", true)) {
    const absl::StatusOr<Message> message = parse({frames.begin(), frames.end()}, corpus_limits());
    ASSERT_TRUE(message.ok()) << type << ": " << message.status();
    EXPECT_EQ(name_of(message->header.type), type);
    EXPECT_EQ(header_frame(message->header, message->payload), frames[0]) << type;
    types.insert(type);
  }
  EXPECT_EQ(types.size(), 27u);
}

// Refused, or what its own header and payload would be written as. Returns whether it is accepted.
bool is_whole(const Frames& frames) {
  const Limits limits = corpus_limits();
  const absl::StatusOr<Message> message = parse({frames.begin(), frames.end()}, limits);
  if (!message.ok()) {
    EXPECT_FALSE(message.status().message().empty());
    return false;
  }
  EXPECT_EQ(message->is_summed ? header_frame(message->header, message->payload) : header_frame_without_sum(message->header, message->payload.size()), frames[0]);
  EXPECT_LT(message->header.chunk, limits.chunk_bytes.size());
  return true;
}

// The corpus as it is, then MXC_FUZZ_INPUTS mutations of it.
TEST(WireFuzz, WhatIsAcceptedIsWhole) {
  std::vector<Frames> seeds;
  for (const auto& [type, frames] : corpus("types.txt", true)) seeds.push_back(frames);
  const auto found = corpus("found.txt", false);
  ASSERT_GT(found.size(), 10u);
  for (const auto& [type, frames] : found) seeds.push_back(frames);
  for (const Frames& frames : seeds) is_whole(frames);
  std::mt19937_64 random(11);
  int64_t accepted = 0;
  for (int64_t i = 0; i < MXC_FUZZ_INPUTS && !testing::Test::HasFailure(); ++i) {
    Frames frames = seeds[static_cast<size_t>(i) % seeds.size()];
    const bool mended = random() % 2 == 0;
    test::mutate(frames, random);
    if (mended && !frames.empty() && frames[0].size() >= 72) frames[0] = changed(frames[0], 68, 0);
    if (is_whole(frames)) ++accepted;
  }
  EXPECT_GT(accepted, MXC_FUZZ_INPUTS / 100);  // or the mutations would be too coarse to come near
  EXPECT_LT(accepted, MXC_FUZZ_INPUTS);
}

}  // namespace
}  // namespace mxc::kv
