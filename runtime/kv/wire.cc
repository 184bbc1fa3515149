// See wire.h.
#include "runtime/kv/wire.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/kv/crc32c.h"

namespace mxc::kv {

namespace {

static_assert(std::endian::native == std::endian::little, "fields are copied as they lie in memory");

constexpr uint32_t kMagic = 0x564b584d;  // "MXKV"
constexpr uint8_t kUnsummed = 0x80;      // in the codec

// Where fields stand.
constexpr size_t kVersionAt = 4, kTypeAt = 6, kCodecAt = 7, kJobAt = 8, kEpochAt = 16, kSenderAt = 20, kIncarnationAt = 24,
                 kChunkAt = 32, kPartAt = 36, kStepAt = 40, kSequenceAt = 48, kWeightAt = 56, kLengthAt = 60, kPayloadSumAt = 64,
                 kHeaderSumAt = 68;

enum class Payload : uint8_t { none, text, chunk };

struct Kind {
  Type type;
  const char* name;
  Payload payload = Payload::none;
  bool of_chunk = false;  // names a chunk
};

constexpr Kind kKinds[] = {
    {Type::join, "join", Payload::text},
    {Type::welcome, "welcome"},
    {Type::sealed, "sealed", Payload::text},
    {Type::peers, "peers", Payload::text},
    {Type::heartbeat, "heartbeat", Payload::text},
    {Type::alive, "alive"},
    {Type::abort, "abort", Payload::text},
    {Type::barrier, "barrier"},
    {Type::barrier_passed, "barrier passed"},
    {Type::leave, "leave"},
    {Type::farewell, "farewell"},
    {Type::open, "open"},
    {Type::opened, "opened"},
    {Type::refused, "refused", Payload::text},
    {Type::init, "init", Payload::chunk, true},
    {Type::initialised, "initialised", Payload::none, true},
    {Type::push, "push", Payload::chunk, true},
    {Type::received, "received", Payload::none, true},
    {Type::committed, "committed", Payload::none, true},
    {Type::probe, "probe", Payload::none, true},
    {Type::missing, "missing", Payload::none, true},
    {Type::pull, "pull", Payload::none, true},
    {Type::value, "value", Payload::chunk, true},
    {Type::finish, "finish", Payload::none, true},
    {Type::finished, "finished", Payload::none, true},
    {Type::ask, "ask", Payload::none, true},
    {Type::version, "version", Payload::none, true},
};

const Kind* kind_of(uint8_t type) {
  for (const Kind& kind : kKinds)
    if (static_cast<uint8_t>(kind.type) == type) return &kind;
  return nullptr;
}

template <typename T>
T get(std::string_view frame, size_t at) {
  T value;
  std::memcpy(&value, frame.data() + at, sizeof value);
  return value;
}

template <typename T>
void put(std::string& frame, size_t at, T value) {
  std::memcpy(frame.data() + at, &value, sizeof value);
}

absl::Status refuse(const char* what) { return absl::InvalidArgumentError(what); }

// Error: this is no header of ours.
absl::Status check_frame(std::string_view frame) {
  if (frame.size() != kHeaderBytes) return refuse("the header has another size");
  if (get<uint32_t>(frame, 0) != kMagic) return refuse("the header does not begin with MXKV");
  if (const auto version = get<uint16_t>(frame, kVersionAt); version != kWireVersion)
    return absl::InvalidArgumentError(absl::StrCat("version ", version, " of the wire format: this program speaks ", kWireVersion));
  if (get<uint32_t>(frame, kHeaderSumAt) != crc32c(frame.data(), kHeaderSumAt)) return refuse("the header's checksum is wrong");
  return absl::OkStatus();
}

absl::Status check_fields(const Header& header, const Kind& kind, const Limits& limits) {
  if (header.job != limits.job) return refuse("it is of another job");
  if (header.sender >= limits.members && header.sender != kScheduler) return refuse("its sender is no member");
  if (kind.of_chunk ? header.chunk >= limits.chunk_bytes.size() : header.chunk != 0) return refuse("there is no such chunk");
  if (header.part >= std::max(limits.parts, 1u)) return refuse("there is no such part");
  return absl::OkStatus();
}

// Bytes of a compressed chunk; 0: it cannot be.
uint32_t packed_bytes(const Header& header, const Limits& limits) {
  const bool may_be = header.type == Type::push || header.type == Type::value;
  return may_be && header.chunk < limits.packed_bytes.size() ? limits.packed_bytes[header.chunk] : 0;
}

absl::Status check_length(const Header& header, const Kind& kind, const Limits& limits, uint32_t length) {
  if (length == 0 && header.type == Type::push && header.weight == 0 && header.codec == 0) return absl::OkStatus();
  if (header.codec != 0) return length == packed_bytes(header, limits) ? absl::OkStatus() : refuse("its payload has not the compressed chunk's size");
  switch (kind.payload) {
    case Payload::none: return length == 0 ? absl::OkStatus() : refuse("it has a payload, and its type has none");
    case Payload::text: return length <= kMostText ? absl::OkStatus() : refuse("its text is too long");
    case Payload::chunk:
      return length == limits.chunk_bytes[header.chunk] ? absl::OkStatus() : refuse("its payload has not the chunk's size");
  }
  return absl::OkStatus();
}

// Requires: the frame is one of a header, whose type there is.
Header header_in(std::string_view frame) {
  Header header;
  header.type = static_cast<Type>(get<uint8_t>(frame, kTypeAt));
  header.job = get<uint64_t>(frame, kJobAt);
  header.epoch = get<uint32_t>(frame, kEpochAt);
  header.sender = get<uint32_t>(frame, kSenderAt);
  header.incarnation = get<uint64_t>(frame, kIncarnationAt);
  header.chunk = get<uint32_t>(frame, kChunkAt);
  header.part = get<uint32_t>(frame, kPartAt);
  header.step = get<uint64_t>(frame, kStepAt);
  header.sequence = get<uint64_t>(frame, kSequenceAt);
  header.weight = get<uint32_t>(frame, kWeightAt);
  header.codec = get<uint8_t>(frame, kCodecAt) & ~kUnsummed;
  return header;
}

std::string header_frame(const Header& header, uint8_t codec, uint32_t length, uint32_t sum) {
  std::string frame(kHeaderBytes, '\0');
  put(frame, 0, kMagic);
  put(frame, kVersionAt, kWireVersion);
  put(frame, kTypeAt, static_cast<uint8_t>(header.type));
  put(frame, kCodecAt, codec);
  put(frame, kJobAt, header.job);
  put(frame, kEpochAt, header.epoch);
  put(frame, kSenderAt, header.sender);
  put(frame, kIncarnationAt, header.incarnation);
  put(frame, kChunkAt, header.chunk);
  put(frame, kPartAt, header.part);
  put(frame, kStepAt, header.step);
  put(frame, kSequenceAt, header.sequence);
  put(frame, kWeightAt, header.weight);
  put(frame, kLengthAt, length);
  put(frame, kPayloadSumAt, sum);
  put(frame, kHeaderSumAt, crc32c(frame.data(), kHeaderSumAt));
  return frame;
}

}  // namespace

uint32_t Limits::largest() const {
  uint32_t bytes = kMostText;
  for (uint32_t chunk : chunk_bytes) bytes = std::max(bytes, chunk);
  return bytes;
}

const char* name_of(Type type) {
  const Kind* kind = kind_of(static_cast<uint8_t>(type));
  return kind == nullptr ? "none" : kind->name;
}

uint32_t Summed::sum() const {
  if (sum_ == nullptr) return crc32c(nullptr, 0);
  if (!sum_->has_value()) *sum_ = crc32c(frame.data(), frame.size());
  return **sum_;
}

std::string header_frame(const Header& header, std::string_view payload) {
  return header_frame(header, header.codec, static_cast<uint32_t>(payload.size()), crc32c(payload.data(), payload.size()));
}

std::string header_frame(const Header& header, const Summed& payload) {
  return header_frame(header, header.codec, static_cast<uint32_t>(payload.frame.size()), payload.sum());
}

std::string header_frame_without_sum(const Header& header, size_t length) {
  return header_frame(header, header.codec | kUnsummed, static_cast<uint32_t>(length), 0);
}

absl::StatusOr<Message> parse(std::span<const std::string_view> frames, const Limits& limits) {
  if (frames.empty() || frames.size() > 2) return refuse("a message has one frame or two");
  const std::string_view frame = frames[0];
  if (absl::Status status = check_frame(frame); !status.ok()) return status;
  const Kind* kind = kind_of(get<uint8_t>(frame, kTypeAt));
  if (kind == nullptr) return refuse("there is no such type");
  Message message;
  message.header = header_in(frame);
  const Header& header = message.header;
  if (header.codec > (packed_bytes(header, limits) == 0 ? 0 : 1)) return refuse("there is no such codec");
  const auto length = get<uint32_t>(frame, kLengthAt);
  if (absl::Status status = check_fields(header, *kind, limits); !status.ok()) return status;
  if (absl::Status status = check_length(header, *kind, limits, length); !status.ok()) return status;
  if (frames.size() != (length == 0 ? 1u : 2u)) return refuse("its frames are not as many as its header says");
  if (length != 0) message.payload = frames[1];
  if (message.payload.size() != length) return refuse("its payload has not the size that its header says");
  message.is_summed = (get<uint8_t>(frame, kCodecAt) & kUnsummed) == 0;
  if (get<uint32_t>(frame, kPayloadSumAt) != (message.is_summed ? crc32c(message.payload.data(), length) : 0))
    return refuse("the payload's checksum is wrong");
  return message;
}

std::optional<Header> header_of(std::string_view frame) {
  if (!check_frame(frame).ok() || kind_of(get<uint8_t>(frame, kTypeAt)) == nullptr) return std::nullopt;
  return header_in(frame);
}

}  // namespace mxc::kv
