// Links of machines on a virtual clock: what leaves a machine, and what reaches it, passes at the rate of its link, both ways at once; a switch between them has
// room for all.
//
// Messages of a connection go one behind the other. Connections of a machine that have something to send take turns, a segment each: so TCP shares a
// link. Linux makes segments of what a connection sends in a millisecond, up to 64 KB; here they are what the link carries in a sixteenth of one, 4 KB at
// least. What comes to a machine does so in the order in which it reaches the link.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "runtime/kv/agenda.h"

namespace mxc::kv {

class SimulatedLinks {
 public:
  // What a machine's link has carried of what was sent while its sender was measured. Seconds in which it was busy; bytes; messages.
  struct Carried {
    double out_busy = 0, in_busy = 0, sent = 0, received = 0, messages = 0;
  };
  // `bandwidth` in bytes/s, `latency` in seconds; `burst`: bytes that a link that was idle may carry at once, as a token bucket allows. Requires: `agenda`
  // lives as long as this.
  SimulatedLinks(Agenda& agenda, size_t machines, double bandwidth, double latency, double burst);

  // Requires: from != to. `connection` tells apart those from one machine to another. `there` happens when the last byte has come.
  void send(uint32_t from, uint32_t to, int connection, double bytes, std::function<void()> there);

  void measure(uint32_t machine, bool on) { machines_[machine].measured = on; }
  const Carried& carried(uint32_t machine) const { return machines_[machine].carried; }

 private:
  using Connection = std::pair<uint32_t, int>;  // to whom, and which
  struct Message {
    double left = 0;  // bytes
    std::function<void()> there;
  };
  struct Machine {
    std::map<Connection, std::deque<Message>> waiting;
    std::deque<Connection> turns;  // those that have something to send
    bool sends = false;
    double out_free = 0, in_free = 0;  // when the link has carried all that has reached it
    bool measured = false;
    Carried carried;
  };

  void send_segment(uint32_t from);
  void come(uint32_t to, double segment, std::function<void()> there);

  double carry(double& free, double bytes) const;

  Agenda& agenda_;
  const double bandwidth_, latency_, burst_;
  const double segment_;  // bytes
  std::vector<Machine> machines_;
};

}  // namespace mxc::kv
