// Worker: brings contributions to the servers and values back. A pure state machine: calls and messages in, messages and events out; time is
// an argument.
//
// A contribution is kept until its step is committed, or, of servers that do not return after their death, until it is received: whatever is lost on the way, or
// with a server's connection, is sent again. What waits to be sent to a server goes by priority, the largest first, as long as it has credit: bytes that
// were sent and not answered with `received` yet. (Credit that came back with the value instead would let two workers of opposite
// order wait for each other for ever.) Credit is small: what is handed to TCP can be overtaken by nothing, and TCP shares links unevenly, and loses
// packets, where several machines send each other much at once.
//
// Contributions to a chunk and pulls go to the server that the plan has for this worker, of level 1 or 2; first values and questions to that of level 2.
//
// Invariants
// 1. Every request (open, init, push, pull, finish) is said again until it is answered: when its server has been silent for `patience`, then
//    after twice as long each time. What fills a slow link if it is said again, `init` and what answers a `pull`, gets 16 times the patience.
//    Of a push only its header is said again (`probe`): the server says if the bytes are missing.
// 2. To a server nothing but `open` is sent until it has answered `opened`.
// 3. Where servers may die and come back, one whose connection was lost is asked whether it still has the last step that it said was committed
//    (`check`): one that has not has lost its state, and with it what nobody else has any more.
// 4. Of a chunk at most `window` steps are not committed; `has_room` says if another may begin.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/kv/consistency.h"
#include "runtime/kv/plan.h"
#include "runtime/kv/transport.h"
#include "runtime/kv/wire.h"

namespace mxc::kv {

using Time = std::chrono::nanoseconds;  // since whenever

struct WorkerOptions {
  uint32_t rank = 0;
  Consistency consistency = {};
  int64_t credit = 512 << 10;  // bytes to all servers on other machines together, an equal share each; a chunk that is larger travels alone
  Duration patience = std::chrono::seconds(1), most_patience = std::chrono::seconds(16);
  bool servers_return = false;  // after their death, with what they have committed
  bool for_machine = false;     // it is that of a server of level 1 (machines.h), and speaks to those of level 2
};

// A message to a server. The payload lives until the machine is called again.
struct Request {
  uint32_t server = 0;
  Header header;
  std::string_view payload;
  bool again = false;  // it has been sent before
  Summed kept = {};    // the payload, if there is one
};

// A value that was pulled: lives as long as the message that brought it. Or, without a value, the version that was asked for.
struct Pulled {
  uint64_t ticket = 0;
  uint32_t chunk = 0;
  uint64_t version = 0;
  std::string_view value;
  bool is_difference = false;  // compressed, to the version before
};

class Worker {
 public:
  // Requires: `plan` lives as long as the worker.
  Worker(const CommunicationPlan& plan, const WorkerOptions& options);

  // ---- What the program wants; sent by the next `send`
  void init(uint32_t chunk, std::string value);
  // Requires: step is the one after the last of this chunk and part, and has_room(chunk, step). The bytes are compressed if the plan says so;
  // of what weighs nothing there are none.
  void push(uint32_t chunk, uint32_t part, uint64_t step, uint32_t weight, Frame bytes, int32_t priority);
  // The value with what the consistency asks for after `step` pushes. The ticket is the caller's; one pull a chunk at a time. `has_before`: the
  // caller has the version before, and takes the difference.
  void pull(uint64_t ticket, uint32_t chunk, uint64_t step, bool has_before = false);
  // How many steps the value has; answered at once. The ticket is the caller's.
  void ask(uint64_t ticket, uint32_t chunk);
  // The pull is not wanted any more.
  void give_up(uint64_t ticket, uint32_t chunk) { answered({Kind::pull, chunk, 0, ticket}); }
  // Nothing is pushed to this chunk from `step` on.
  void finish(uint32_t chunk, uint64_t step);

  bool has_room(uint32_t chunk, uint64_t step) const;
  bool is_idle() const;  // everything is answered and committed
  // The highest step that is committed.
  uint64_t committed(uint32_t chunk) const;

  // ---- What happens
  // Pulled values are appended to `pulled`. Error: InvalidArgument: it breaks the protocol; FailedPrecondition: the server refuses this job, or has lost
  // what was committed.
  absl::Status receive(uint32_t server, const Message& message, Time now, std::vector<Pulled>& pulled);
  // The connection was lost: everything that is not answered is said again.
  void lost(uint32_t server);
  // The next message that may be sent. False: none.
  bool send(Time now, Request& request);
  // When `send` has something to say again, at the latest.
  Time next_time() const;

  // Has this server, of which something is wanted, said nothing for so long?
  bool is_silent(uint32_t server, Time now, Duration so_long) const {
    return servers_[server].wanted > 0 && now - servers_[server].waited_for >= so_long;
  }
  // Has it anything to do with this server?
  bool speaks_to(uint32_t server) const { return servers_[server].is_used; }
  // Credit of a server that is taken.
  int64_t bytes_on_the_way(uint32_t server) const { return servers_[server].on_the_way; }

 private:
  enum class Kind : uint8_t { open, init, push, pull, finish, ask, check };
  // What a request is known by: a server has at most one of each.
  struct Id {
    Kind kind;
    uint32_t chunk, part;
    uint64_t step;
    auto operator<=>(const Id&) const = default;
  };
  struct Pending {
    Header header;
    Summed payload;
    int32_t priority = 0;
    int32_t turn = 0;  // its priority in the queue
    uint64_t order = 0;
    uint32_t server = 0;
    bool sent = false;      // once at least
    bool received = false;  // a push: the server has it; waits for its commit
    bool whole = true;      // a push: to be sent with its bytes, not as a probe
    Duration patience{};
    Time again{};         // when it is said again
    int64_t charged = 0;  // credit it has taken
  };
  struct ServerState {
    bool open = false, is_used = false;
    int64_t on_the_way = 0;
    Time heard = std::chrono::hours(-1);  // its last message
    int64_t wanted = 0;                   // requests that it has not answered
    Time waited_for = Time::max();        // since when, or since its last message
    std::set<std::tuple<int32_t, uint64_t, Id>> queue;  // (-turn, order): to be sent now
  };

  uint32_t server_for(uint32_t chunk) const {
    return options_.for_machine ? plan_.chunks[chunk].server : plan_.server_for(chunk, options_.rank);
  }
  void add(const Id& id, Pending pending);
  void ask_to_open(uint32_t server);
  Duration patience_with(const Id& id) const;
  void check_commits(uint32_t server);
  void committed(const Header& header);
  void enqueue(const Id& id);
  void dequeue(const Id& id, const Pending& pending);
  void answered(const Id& id);
  void give_back(Pending& pending);
  void arm(const Id& id, Pending& pending, Time now);
  bool may_send(const Id& id, const Pending& pending) const;
  void wake_up(Time now);

  const CommunicationPlan& plan_;
  const WorkerOptions options_;
  const int64_t credit_;  // bytes a server
  uint64_t next_order_ = 0;
  std::map<Id, Pending> pending_;
  std::set<std::pair<Time, Id>> alarms_;
  std::vector<ServerState> servers_;
  std::vector<uint64_t> committed_;              // of each chunk
  std::vector<std::set<uint64_t>> uncommitted_;  // of each chunk: steps that are pushed and not committed
  std::set<uint32_t> queued_;                    // servers whose queue is not empty
  uint32_t next_server_ = 0;                     // servers take turns
};

}  // namespace mxc::kv
