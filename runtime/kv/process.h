// Process: what a member of a job does beside its program: it speaks with the scheduler, serves its share of the chunks, adds up for its machine, and works for its
// program, each on a thread of its own. The machines (member.h, server.h, worker.h) decide; here they are given threads, clocks and sockets.
//
// Invariants
// 1. Each machine, and each transport, is used by one thread alone; others leave orders in a queue and wake it.
// 2. The first failure, wherever it happens, is the job's: it is told to the scheduler, and all that waits ends with it, in time.
// 3. `done` of an order is called once, on the worker's thread or in the call itself, which must hold no lock that it takes.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/kv/bundles.h"
#include "runtime/kv/identity.h"
#include "runtime/kv/member.h"
#include "runtime/kv/server.h"
#include "runtime/kv/transport.h"
#include "runtime/kv/worker.h"

namespace mxc::kv {

struct ProcessOptions {
  uint64_t job = 0;
  uint32_t rank = 0, size = 1;
  std::string scheduler;  // its address
  std::string listen;     // where its servers listen: "tcp://127.0.0.1:0"
  std::string machine;    // those that name the same one add their contributions up before they leave it (machines.h); empty: by itself
  std::string state;      // the server's state file, if the job waits for its dead; empty: it does not
  bool state_stays = false;  // when the job is over, too: its launcher removes it
  Predecessors before = {};  // whose state the server takes over
  MemberOptions member = {};
  WorkerOptions worker = {};
  // Makes endpoints that take frames of so many bytes.
  std::function<absl::StatusOr<std::unique_ptr<Transport>>(int64_t largest)> endpoint;
  // Those of the server and the worker; null: `endpoint` does.
  std::function<absl::StatusOr<std::unique_ptr<Transport>>(int64_t largest)> data_endpoint = nullptr;
  // That of the server of level 1; null: as those.
  std::function<absl::StatusOr<std::unique_ptr<Transport>>(int64_t largest)> level1_endpoint = nullptr;
};

using Done = std::function<void(absl::Status)>;

// What a process's worker has exchanged with the servers since it began.
struct Traffic {
  uint64_t sent = 0, received = 0;  // bytes of messages, without what encryption and TCP add
  uint64_t again = 0;               // messages that were sent once more
  uint64_t staleness = 0;           // the most steps that a pulled value lacked; nothing in async
  uint64_t pushes = 0, values = 0;  // messages that brought elements: to servers, and from them
  uint64_t shared = 0;              // of the bytes sent and received, those that stayed in the memory of this machine
};

class Process {
 public:
  // Begins to look for the scheduler.
  static absl::StatusOr<std::unique_ptr<Process>> start(const ProcessOptions& options);
  ~Process();
  // Ends the threads; who waits is told that the store is closed. Call `close` first to leave in peace.
  void stop();

  // The keys are known: from here on there is a worker and, if the plan says so, a server. `initial`: of rank 0, the first values of keys, else empty.
  // Once, before what follows.
  absl::Status seal(CommunicationPlan plan, const Update& update, std::vector<std::string> initial);

  // A contribution to a key. `done`: what is at `parts` has been copied, but for what is lent, and may change. Steps of a key count from 1.
  void push(uint32_t key, uint64_t step, std::vector<PartOfKey> parts, int32_t priority, Done done);
  // Is there something to gain by lending? Not where contributions are kept until others have made theirs, too, nor where nobody waits for the others: there the next
  // ones may be computed while these are on their way.
  bool borrows() const { return options_.state.empty() && options_.worker.consistency == Consistency(); }
  // The value of a key after `step` pushes goes to `target`. Before `done` the memory is this process's.
  void pull(uint32_t key, uint64_t step, char* target, Done done);
  // How many steps all parts of a key's value have goes to `steps`; it is this process's before `done`.
  void ask(uint32_t key, uint64_t* steps, Done done);
  // Nothing is pushed to this key from `step` on.
  void finish(uint32_t key, uint64_t step);

  // Waits until all that was ordered is done and committed. Returns the job's failure.
  absl::Status flush();
  // Waits for all members. Returns the job's failure.
  absl::Status barrier();
  // Waits until all members have closed. Returns the job's failure.
  absl::Status close();
  // Ends the job for this reason.
  void fail(absl::Status why);
  absl::Status status() const;
  Traffic traffic() const;

 private:
  struct Order {
    enum class Kind : uint8_t { push, pull, ask, finish, connect } kind;  // kAsked has their names
    uint32_t key = 0;
    uint64_t step = 0;
    std::vector<PartOfKey> parts;
    int32_t priority = 0;
    char* target = nullptr;
    Done done;
    std::vector<std::string> addresses;
    uint64_t* steps = nullptr;
  };
  // What the program has asked for.
  struct Asked {
    const char* what = nullptr;  // "a push"
    uint64_t number = 0;  // of a key, or a barrier
  };
  class Clients;
  class Servers;
  class Serving;
  class Level1;
  class Working;

  explicit Process(const ProcessOptions& options);
  absl::Status start_threads();
  absl::StatusOr<std::unique_ptr<ServerState>> open_state(uint32_t server) const;
  void control();
  void take(const News& news);
  Progress look();
  void order(Order order);
  void note(Asked asked);
  bool wait_for(const std::function<bool()>& condition);
  void wake_all();
  int64_t largest_frame() const { return plan_.limits(options_.job).largest(); }
  absl::StatusOr<std::unique_ptr<Transport>> data_endpoint() const;
  absl::StatusOr<std::string> start_serving(uint32_t server, const Update& update);
  absl::StatusOr<std::string> start_level1();
  // Where all members are, by rank, once they have told; from then on the plan knows who shares a machine. Nothing: the job has failed before.
  std::optional<std::vector<std::string>> wait_for_places();
  WorkerOptions worker_options() const;
  Header stamped(Header header, uint32_t sender) const;
  // `kept`: the payload, if it is kept.
  static absl::Status send(Transport& transport, Peer peer, const Header& header, std::string_view payload, const Summed& kept = {});
  // Does a pull bring the very step that it asks for? (server.h, invariant 6)
  bool is_exact() const { return !options_.state.empty() && options_.worker.consistency == Consistency(); }

  const ProcessOptions options_;
  const uint64_t incarnation_;
  CommunicationPlan plan_;  // its machines are set with places_, before any other thread reads it

  std::atomic<uint64_t> step_{0};  // the last that has begun; relaxed: it is for messages alone
  std::atomic<uint64_t> sent_{0}, received_{0}, again_{0}, staleness_{0}, pushes_{0}, values_{0}, shared_{0};  // see Traffic; relaxed: they are for reports alone

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  absl::Status failure_;
  bool stopping_ = false, sealed_ = false, idle_ = false, leaving_ = false, farewell_ = false;
  uint64_t barriers_ = 0, passed_ = 0;
  uint64_t requests_ = 0;  // of the program
  Asked last_;             // of them
  std::vector<std::function<void(Member&)>> asked_;  // of the member
  std::vector<Order> orders_;                        // of the worker
  std::vector<std::string> places_;                  // of all members, by rank; empty: not known yet

  Moves moves_;  // the control thread's

  std::unique_ptr<Transport> control_transport_;
  // Set by `seal`, with mutex_, since a job may fail before that.
  std::unique_ptr<Serving> serving_;  // null: others hold the values
  std::unique_ptr<Level1> level1_;    // null: what its worker contributes goes to those who hold values
  std::unique_ptr<Working> working_;
  std::thread control_thread_, server_thread_, level1_thread_, worker_thread_;
};

}  // namespace mxc::kv
