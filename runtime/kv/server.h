// Server: keeps the values of its chunks, adds contributions up, and updates. A pure state machine: messages in, messages out, no clock and
// no thread, so that the thread of a process, a simulator and a model check run the same code.
//
// Exactly once. A contribution is known by (worker, part, step, chunk). It is kept when it comes first and answered with `received`; when it
// comes again it is answered and not kept. When all of a step are there, in whatever order they came, they are added by the tree over shards
// and the value is updated: that step is committed, its workers are told, and contributions to it are answered with `committed` ever after.
//
// Its workers are the speakers of the plan: those that contribute to a chunk; others of the job may ask for its value alone.
//
// Invariants
// 1. version(chunk) steps are committed, in order, each once; none before the chunk and what lies beside it have their first values.
// 2. What is kept belongs to steps in (version, version + window]; so memory is bounded by the plan.
// 3. A worker that has finished a chunk from step t on is not waited for in t and later steps: its shards contribute nothing.
// 4. A contribution that weighs nothing is nothing: it is not added. A step without any other changes no value.
// 5. A pull is answered when its version is there, and not before; of one worker and chunk the last pull alone waits. The version of a chunk that lies
//    beside another is the other's.
// 6. With a state, no worker hears of a commit, an initial value or a finish before it is kept; and in sync a pull gets the very version that it asks
//    for, if that is the newest or the one before: a worker that comes back computes a step again from what it was computed from.
// 7. A message costs what its own worker has to do with it; what concerns all workers is looked at once a commit.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/kv/consistency.h"
#include "runtime/kv/contributions.h"
#include "runtime/kv/plan.h"
#include "runtime/kv/server_state.h"
#include "runtime/kv/tree.h"
#include "runtime/kv/value.h"
#include "runtime/kv/wire.h"

namespace mxc::kv {

// A message to a worker. The payload lives until the machine is called again.
struct Reply {
  uint32_t worker = 0;
  Header header;  // job, epoch, sender and incarnation are whoever's who sends it
  std::string_view payload;
  Summed kept = {};  // the payload, if it outlives that
};

// The answer to a message about a chunk, and one of its parts, without a payload.
Reply reply_to(const Header& header, uint32_t worker, Type type, uint64_t step);
// The error of a message that breaks the protocol.
absl::Status broken(const Message& message, const char* what);

// Of a chunk whose value is not the sum itself: the sum of a step's contributions, which weigh `weight` together; and its value, which is to be changed, with those of the chunks
// that lie beside it (plan.h).
struct Step {
  uint32_t chunk = 0;
  uint64_t step = 0;
  uint64_t weight = 0;
  std::span<const char> sum;
  std::span<char> value;
  std::vector<std::span<char>> beside = {};
  // Where the update may put what it has added to the value, compressed (compression.h), for workers that have the version before.
  std::string* difference = nullptr;
};
// Error: the job cannot go on.
using Update = std::function<absl::Status(const Step& step)>;

class Server {
 public:
  // Requires: `plan` lives as long as the server, and so does `state`: what is in it is what the server goes on from. None: it forgets all when it dies.
  Server(const CommunicationPlan& plan, uint32_t number, const Consistency& consistency, Update update, ServerState* state = nullptr);

  // What a worker sent, and what is to be answered, appended to `replies`.
  // Error: InvalidArgument: the message breaks the protocol, and has changed nothing; another: an update failed.
  absl::Status receive(uint32_t worker, const Message& message, std::vector<Reply>& replies);

  // A worker that has died is back: what it had asked for is not wanted any more.
  void returned(uint32_t worker);

  // Of a chunk of this server's.
  uint64_t version(uint32_t chunk) const { return chunks_.at(chunk).version; }
  std::string_view value(uint32_t chunk) const { return chunks_.at(chunk).value.bytes(); }
  // Ranks whose contribution to the step after `version` is not there.
  std::vector<uint32_t> awaited(uint32_t chunk) const;
  // Bytes of contributions that are kept.
  int64_t kept_bytes() const { return kept_bytes_; }

 private:
  static constexpr uint64_t kNever = UINT64_MAX;
  struct Collected {
    Contributions contributions;
    uint32_t awaited = 0;  // workers that have not finished before it and of which a part has not come
  };
  struct Waiting {
    uint64_t step = 0, sequence = 0;
    bool has_before = false;  // the version before
  };
  using Parts = std::vector<std::vector<Node>>;  // of each speaker (plan.h)
  struct ChunkState {
    explicit ChunkState(size_t bytes) : value(bytes) {}
    std::shared_ptr<const Parts> parts;
    bool initialised = false;
    uint64_t version = 0;
    bool is_sum = false;                      // the value, of the last step
    Value value;
    std::string difference;                   // of the version from the one before, compressed; empty: not known
    std::map<uint64_t, Collected> steps;      // that are not committed
    std::vector<uint64_t> finished_from;      // of each worker
    std::vector<uint64_t> applied;            // async: the last step of each worker that is in the value
    std::map<uint32_t, Waiting> pulls;        // by worker
  };

  uint64_t committed_of(const ChunkState& chunk, uint32_t worker) const;
  static bool all_there(const ChunkState& chunk, uint32_t worker, uint64_t step);
  absl::Status init(uint32_t worker, const Message& message, std::vector<Reply>& replies);
  absl::Status push(uint32_t worker, const Message& message, std::vector<Reply>& replies);
  void finish(uint32_t worker, const Header& header);
  static Collected& collected(ChunkState& chunk, uint64_t step);
  absl::Status advance(uint32_t number, uint32_t worker, std::vector<Reply>& replies);
  absl::Status advance_all(uint32_t number, std::vector<Reply>& replies);
  absl::Status advance_alone(uint32_t number, uint32_t worker, std::vector<Reply>& replies);
  static void add_parts(ChunkState& chunk, uint64_t step, uint32_t worker, std::vector<std::pair<Node, Contribution*>>& to);
  bool next_step_is_there(const ChunkState& chunk) const;
  bool is_ready(uint32_t number) const;
  absl::Status update(uint32_t number, uint64_t step, const Summands& summands, uint64_t weight);
  absl::Status commit(uint32_t number, uint64_t step, std::vector<std::pair<Node, Contribution*>> contributions);
  void forget(ChunkState& chunk, uint64_t step, uint32_t worker, bool all);
  bool answer(uint32_t number, uint32_t worker, const Waiting& waiting, std::vector<Reply>& replies);
  void answer_pull(uint32_t number, uint32_t worker, std::vector<Reply>& replies);
  void answer_pulls(uint32_t number, std::vector<Reply>& replies);
  void restore();
  void keep(uint32_t number);
  uint32_t counted_by(uint32_t number) const;

  const CommunicationPlan& plan_;
  const Consistency consistency_;
  const Update update_;
  ServerState* const state_;  // or null
  std::map<uint32_t, ChunkState> chunks_;
  std::map<uint32_t, uint32_t> main_of_;  // of chunks that lie beside others: these
  int64_t kept_bytes_ = 0;
  std::string sum_;  // room for the sum of a step
};

}  // namespace mxc::kv
