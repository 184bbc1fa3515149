// Simulator: what a job's steps would take on machines and a network that are not there. The plan, the workers and the servers are those of a
// real job (plan.h, worker.h, server.h); the clock, the network and the arithmetic are models. Deterministic.
//
// The model. Each machine has a worker, which computes; beside it, on all or on those that the plan says, is a server. Messages leave a machine one
// behind the other, and reach one the same way, at the rate of its link, both ways at once; a switch between them has room for all of them. Each
// message spends `latency` on its way, carries `overhead` bytes, and is cut into packets of `mtu` bytes with their headers. Servers and workers take the
// bytes of arrays out of messages, and add them up, at the rate `processing`. A machine's messages to itself cross no link. What is compressed crosses
// links as it is packed; it is unpacked before it is added, at the rate of what it becomes.
//
// The state machines are given arrays of 1/256 of their size, and 1/256 of the credit: so jobs fit into the memory of one process.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kv/consistency.h"
#include "runtime/kv/plan.h"
#include "runtime/kv/worker.h"

namespace mxc::kv {

// A step of a machine's computation.
struct ComputeStep {
  double seconds = 0;
  std::vector<uint32_t> reads;  // keys whose value it needs
  std::vector<uint32_t> makes;  // keys whose contribution is there behind it
};

struct SimulatedNetwork {
  double bandwidth = 125e6;   // bytes/s of a machine's link, in each direction
  double latency = 50e-6;     // seconds
  double processing = 2e9;    // bytes/s
  int64_t overhead = 128;     // bytes of a message beside its arrays: header and encryption
  int64_t mtu = 1500;         // bytes of a packet, of which 52 are headers of IP and TCP; Ethernet's 38 come on top. 0: there are no packets
};

struct SimulatedJob {
  PlanRules rules;                    // workers, servers (at most as many) and shards among them
  Consistency consistency = {};
  int64_t credit = WorkerOptions().credit;
  SimulatedNetwork network = {};
  // Of each training step; the steps of all shards of a machine but its last make nothing.
  std::vector<ComputeStep> compute;
  int steps = 8;                      // training steps; the first two are not measured, so three at least
};

// Means over the measured steps. A machine: the one that needs most of it.
struct SimulatedStep {
  double seconds = 0;           // of a training step
  double compute = 0;           // seconds that a machine computes in it
  double communication = 0;     // seconds that a machine's link is busy in it, in the direction in which it is longer
  double sent = 0, received = 0;  // bytes that a machine's link carries in it
  double messages = 0;          // that a machine sends in it

  // The part of the communication, 0 to 1, that takes no time of its own because the machine computes meanwhile.
  double hidden() const;
};

// Error (invalid argument): fewer than three steps; a rate that is no number above 0; an mtu of headers alone; keys that make_plan refuses; a step of `compute` that needs or makes
// a key that is not there.
absl::StatusOr<SimulatedStep> simulate(const std::vector<Key>& keys, const SimulatedJob& job);

}  // namespace mxc::kv
