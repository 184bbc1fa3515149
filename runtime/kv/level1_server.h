// Level1Server: adds up what the processes of its machine contribute to the chunks that it leads (machines.h), and brings their values once for all of them. To them
// it is a server, as server.h describes; to the servers of level 2 it is a worker that speaks for its machine. A pure state machine.
//
// A step's contributions are added where the tree over shards has a node within the machine: what leaves is the largest of such nodes, and so the bits are those of
// one process. A contribution is acknowledged when it is there, and committed when level 2 has committed the sum; nothing waits in between: steps of other
// chunks, and the next ones, go on.
//
// Invariants
// 1. Steps up to `sent` of a chunk have been contributed to level 2, in order, each once, when all processes of the machine had contributed or finished; what is kept
//    belongs to later ones.
// 2. A pull is answered with a value that has come from level 2 and has the version, and not before. Of a chunk one pull at most is on its way to level 2: for
//    the lowest version that is waited for, since what is waited for above it may depend on whoever waits for that.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/kv/server.h"
#include "runtime/kv/worker.h"

namespace mxc::kv {

class Level1Server {
 public:
  // `options`: of its worker. Requires: `plan` lives as long as this; it has machines, and more than one process on that of options.rank.
  Level1Server(const CommunicationPlan& plan, WorkerOptions options);

  // What a process of the machine sent, and what is to be answered, appended to `replies`. Error (invalid argument): it breaks the protocol, and has changed nothing.
  absl::Status receive(uint32_t member, const Message& message, std::vector<Reply>& replies);
  // What a server of level 2 sent. Error: as Worker::receive's.
  absl::Status receive_from_level2(uint32_t server, const Message& message, Time now, std::vector<Reply>& replies);

  // It speaks to the servers of level 2.
  Worker& worker() { return worker_; }
  // Bytes of contributions that wait for others of the machine.
  int64_t kept_bytes() const { return kept_bytes_; }

 private:
  static constexpr uint64_t kNever = UINT64_MAX;
  struct Waiting {
    uint64_t version = 0, sequence = 0;
  };
  struct Asked {
    uint64_t ticket = 0, version = 0;
  };
  struct ChunkState {
    uint64_t sent = 0, committed = 0;
    bool finished = false;                      // level 2 has been told that nothing more comes
    std::map<uint64_t, Contributions> steps;    // after `sent`
    std::map<uint32_t, uint64_t> finished_from; // of each rank of the machine
    std::map<uint32_t, Waiting> pulls;          // by rank
    std::optional<Asked> asked;                 // of level 2
    std::optional<uint64_t> version;            // of `value`; nothing: none has come yet
    Summed value;
  };

  absl::Status push(uint32_t member, const Message& message, std::vector<Reply>& replies);
  absl::Status pull(uint32_t member, const Header& header, std::vector<Reply>& replies);
  Type state_of(const ChunkState& chunk, uint32_t member, const Header& header) const;
  bool is_there(const ChunkState& chunk, uint64_t step) const;
  void advance(uint32_t number);
  void contribute(uint32_t number, uint64_t step, Contributions contributions);
  void tell_committed(uint32_t number, std::vector<Reply>& replies);
  void answer_pulls(uint32_t number, std::vector<Reply>& replies);
  void ask_for_value(uint32_t number);

  const CommunicationPlan& plan_;
  const Consistency consistency_;
  std::map<uint32_t, std::vector<Node>> parts_;  // of each rank of the machine
  const std::vector<Node> sums_;                 // that leave it
  std::map<uint32_t, ChunkState> chunks_;
  Worker worker_;
  uint64_t next_ticket_ = 1;
  int64_t kept_bytes_ = 0;
};

}  // namespace mxc::kv
