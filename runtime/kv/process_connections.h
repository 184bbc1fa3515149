// The two ends of connections between workers and servers, as the threads of a process use them. See process.h.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/kv/process.h"
#include "runtime/kv/reach_probe.h"

namespace mxc::kv {

// Who speaks to a server of this process.
class Process::Clients {
 public:
  // `returned` is called with the number of a client that has died and is back.
  Clients(Process& process, Transport& transport, std::function<void(uint32_t client)> returned);

  // The message of a client that has opened a connection; it lives as long as the arrival. Nothing: it was seen to. Whoever is no member, or sends what is no
  // message, loses the connection, and nothing else happens.
  std::optional<Message> read(Arrival& arrival);
  void answer(std::span<const Reply> replies);
  // What has come of a client's message. A member that breaks the protocol is a fault of this program's: it hears why, and the job ends.
  void settle(Peer peer, const absl::Status& status);

 private:
  struct Client {
    Peer peer = 0;
    uint64_t incarnation = 0;
  };
  void open(Peer peer, const Header& header);
  void refuse(Peer peer, const std::string& why);
  void answer(Peer peer, const Header& header, std::string_view payload, const Summed& kept = {});

  Process& process_;
  Transport& transport_;
  const Limits limits_;
  const std::function<void(uint32_t)> returned_;
  std::map<uint32_t, Client> clients_;  // by speaker
};

// The servers that a worker of this process speaks to.
class Process::Servers {
 public:
  // `sender`: as whom it speaks (plan.h).
  Servers(Process& process, Transport& transport, Worker& worker, uint32_t sender);

  // Once all are known, and again when one has come back at another address. `places`: of all members, by rank (machines.h).
  void connect(const std::vector<std::string>& places);
  bool are_known() const { return !peers_.empty(); }
  // Sends what the worker may send.
  void send();
  // Ends the job if a server that says nothing can be reached no more, though the scheduler has not missed it: not where the dead return, and the cut may heal.
  void look();

  struct Said {
    uint32_t server = 0;
    Message message;  // lives as long as the arrival
  };
  bool have(Peer peer) const { return server_of_.contains(peer); }
  // What a server has said. Nothing: none has, or its connection was lost, which the worker has been told.
  std::optional<Said> read(Arrival& arrival);

 private:
  void count(std::atomic<uint64_t>& bytes, Peer peer, size_t more);

  Process& process_;
  Transport& transport_;
  Worker& worker_;
  const uint32_t sender_;
  const Limits limits_;
  std::map<Peer, uint32_t> server_of_;
  std::vector<std::optional<Peer>> peers_;  // by server; empty: not known yet
  std::vector<std::string> addresses_;
  // When a server that stays silent is tried next: less and less often, since one that is busy may take connections later than its machine does.
  struct Tries {
    Time next{};
    Duration pause = std::chrono::seconds(1);
  };
  ReachProbe probe_;
  std::vector<Tries> tries_;  // by server
};

}  // namespace mxc::kv
