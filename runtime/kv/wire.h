// Wire: how messages of the KVStore look as bytes, and the one parser of what comes from outside.
//
// A message is a header frame of 72 bytes and, if its length is not 0, one payload frame. All integers are little-endian:
//
//   at  bytes  field
//    0    4    magic, "MXKV"
//    4    2    version, 1
//    6    1    type
//    7    1    codec of the payload: 0, as it is; 1, elements that are compressed as the plan says (compression.h); 128 more: it has no checksum, since it
//              has not left the memory of a machine
//    8    8    job: a random number that all members of a job share
//   16    4    epoch: grows with each change of the membership
//   20    4    sender: its rank; of the scheduler 0xffffffff; of a server of level 1, to those of level 2, the number of workers and its rank
//   24    8    incarnation: a random number of the sending process
//   32    4    chunk of the communication plan (plan.h)
//   36    4    part: which of its sender's nodes of the tree over shards a contribution is (tree.h)
//   40    8    step
//   48    8    sequence: of a pull, a question and their answers: the number of the pull or the question
//   56    4    weight of a contribution; of a pull: 1 if the sender has the version before
//   60    4    length of the payload
//   64    4    CRC32C of the payload; 0 if it has none
//   68    4    CRC32C of bytes 0 to 67
//
// What a type does not use is 0. Payloads are nothing, text of at most kMostText bytes, or the elements of a chunk in as many bytes as the
// plan says: of a push what it contributes, or nothing if it weighs nothing; of a value all of it or, compressed, what is to be added to the
// version before. Elements are as they lie in memory: members of a job have the same byte order.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kv/frame.h"

namespace mxc::kv {

enum class Type : uint8_t {
  // Between a member and the scheduler.
  join = 1,            // text: host and process; step: the barriers it has passed. Said again until answered
  welcome = 2,         // epoch
  sealed = 3,          // step: the hash of the plan; text: where the member's servers listen, and its machine (machines.h). Said again until `peers`
  peers = 4,           // text: these texts, a line for each rank
  heartbeat = 5,       // step: the last that the member has begun; sequence: another number when it has gone on; weight: 1 if it waits for
                       // others; text: what it did last, or nothing
  alive = 6,           // the answer
  abort = 7,           // text: why the job ends
  barrier = 8,         // step: the number of the barrier. Said again until answered
  barrier_passed = 9,  // step
  leave = 10,          // the member has nothing more to do. Said again until answered
  farewell = 11,       // all have said so: servers may end
  // Between a worker and a server.
  open = 16,  // step: the hash of the plan
  opened = 17,
  refused = 18,      // text: why
  init = 19,         // chunk; its first value
  initialised = 20,  // chunk
  push = 21,         // chunk, part, step, weight; a contribution
  received = 22,     // chunk, part, step: it is there, once and for all
  committed = 23,    // chunk, step: the value has this contribution in it
  probe = 24,        // chunk, part, step: what has become of it? Answers: received, committed, missing
  missing = 25,      // chunk, part, step: it has to be sent again
  pull = 26,         // chunk, step: what has to be in the value; sequence
  value = 27,        // chunk, step: the value's version; sequence; the value
  finish = 28,       // chunk, step: from this one on the sender's contributions weigh nothing
  finished = 29,     // chunk, step
  ask = 30,          // chunk, sequence: how many steps has the value?
  version = 31,      // chunk, step, sequence
};

inline constexpr uint32_t kScheduler = 0xffffffff;
inline constexpr size_t kHeaderBytes = 72;
inline constexpr uint32_t kMostMembers = 1 << 16;  // ranks are below
inline constexpr uint32_t kMostText = 1 << 18;     // bytes: where the servers of 1,500 members are
inline constexpr uint16_t kWireVersion = 1;

struct Header {
  Type type = Type::join;
  uint64_t job = 0;
  uint32_t epoch = 0;
  uint32_t sender = 0;
  uint64_t incarnation = 0;
  uint32_t chunk = 0;
  uint32_t part = 0;
  uint64_t step = 0;
  uint64_t sequence = 0;
  uint32_t weight = 0;
  uint8_t codec = 0;
  bool operator==(const Header&) const = default;
};

// What a message may be, in this job. Everything else is refused.
struct Limits {
  uint64_t job = 0;
  uint32_t members = 0;               // ranks are below
  std::vector<uint32_t> chunk_bytes;  // of each chunk of the plan
  uint32_t parts = 0;                 // of a worker, at most
  std::vector<uint32_t> packed_bytes = {};  // of each chunk, compressed; 0, or none: it is not

  // Of the largest frame.
  uint32_t largest() const;
};

struct Message {
  Header header;
  std::string_view payload;  // in the frame that was parsed
  const Frame* frame = nullptr;  // that frame, if there is one
  bool is_summed = true;         // it has a checksum
};

// A payload that is sent later, or several times. Copies are the same payload, whose checksum is taken once, when it is first wanted. Threads: one at a time.
class Summed {
 public:
  Frame frame;

  Summed() = default;
  explicit Summed(Frame bytes) : frame(std::move(bytes)), sum_(std::make_shared<std::optional<uint32_t>>()) {}
  uint32_t sum() const;

 private:
  std::shared_ptr<std::optional<uint32_t>> sum_;
};

// The header frame of a message with this payload, and its checksum.
std::string header_frame(const Header& header, std::string_view payload);
std::string header_frame(const Header& header, const Summed& payload);
// Of one whose payload of so many bytes has none.
std::string header_frame_without_sum(const Header& header, size_t length);

// The message of these frames. Pure: looks at nothing else, whatever the bytes.
// Error: one line that says what is wrong with them; none of their text is in it.
absl::StatusOr<Message> parse(std::span<const std::string_view> frames, const Limits& limits);

// The header alone, if its checksum is right: what it says need not fit the job.
std::optional<Header> header_of(std::string_view frame);

// "push", "committed": for messages.
const char* name_of(Type type);

}  // namespace mxc::kv
