// The threads of a process that serve and that work. See process.h.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/kv/level1_server.h"
#include "runtime/kv/process.h"
#include "runtime/kv/process_connections.h"

namespace mxc::kv {

// Takes connections of workers and gives them to the server machine.
class Process::Serving {
 public:
  // `number`: of the server. `state`: null if the server is to forget all when it dies.
  Serving(Process& process, uint32_t number, std::unique_ptr<Transport> transport, Update update, std::unique_ptr<ServerState> state);
  void run();
  void wake() { transport_->wake(); }
  // A key that is being updated; -1: none is. From any thread.
  int64_t updated_key() const { return updated_key_.load(std::memory_order_relaxed); }
  // Nobody needs it any more. From any thread.
  void forget_state() const {
    if (state_ != nullptr) state_->remove();
  }

 private:
  bool begin();
  void take(Arrival& arrival);

  Process& process_;
  const uint32_t number_;
  const std::unique_ptr<Transport> transport_;
  const Update update_;
  const std::unique_ptr<ServerState> state_;  // or null
  std::atomic<int64_t> updated_key_{-1};      // relaxed: it is for messages, and orders nothing
  std::optional<Server> server_;              // once all members are known, and so is what follows
  std::optional<Clients> clients_;
};

// Adds up what the processes of its machine contribute, and brings them values. It ends at once if there are no others.
class Process::Level1 {
 public:
  Level1(Process& process, std::unique_ptr<Transport> transport);
  void run();
  void wake() { transport_->wake(); }

 private:
  bool begin();
  void take(Arrival& arrival);

  Process& process_;
  const std::unique_ptr<Transport> transport_;
  std::optional<Level1Server> server_;  // once all members are known, and so is what follows
  std::optional<Clients> clients_;
  std::optional<Servers> servers_;
};

// Carries out the program's orders.
class Process::Working {
 public:
  Working(Process& process, std::unique_ptr<Transport> transport, std::vector<std::string> initial);
  void run();
  void wake() { transport_->wake(); }

 private:
  // A pull of a key, or a question about it, whose chunks are answered one by one.
  struct Pulling {
    char* target;
    uint64_t* steps;  // a question; else null
    uint64_t step;
    size_t missing;
    Done done;
  };
  // What a chunk was when it came last, for differences to be added to.
  struct Copy {
    uint64_t version = 0;
    std::string value;
  };

  void begin();
  void take_orders();
  void carry_out(Order order);
  bool push(const Order& order);
  void note_lent(const Order& order);
  void pull(Order order);
  void take(Arrival& arrival);
  char* place_of(std::span<const Frame> before, size_t size) const;
  bool keeps_copy(uint32_t chunk) const;
  absl::StatusOr<std::string_view> brought_up_to_date(const Pulled& pulled);
  void deliver(const Pulled& pulled);
  void deliver(Pulling& pulling, const Piece& piece, uint64_t version, std::string_view chunk);
  void note_staleness(uint64_t step, uint64_t version);
  void push_waiting();
  void end_all(const absl::Status& why);

  Process& process_;
  const std::unique_ptr<Transport> transport_;
  std::vector<std::string> initial_;  // for the servers; then empty
  std::optional<Worker> worker_;      // once all members are known, and so is what follows
  std::optional<Servers> servers_;
  std::deque<Order> waiting_;  // pushes for which there is no room yet, in order
  uint64_t next_ticket_ = 1;
  std::map<uint32_t, Copy> copies_;  // by chunk
  std::map<uint64_t, std::vector<std::pair<std::shared_ptr<Pulling>, const Piece*>>> pulls_;  // by ticket
  std::vector<std::weak_ptr<Lent>> lent_;
  BundledPushes bundled_pushes_;
  BundledPulls bundled_pulls_;
};

}  // namespace mxc::kv
