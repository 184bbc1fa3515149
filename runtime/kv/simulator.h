// Simulator: what a job's steps would take on machines and a network that are not there. The plan, the workers and the servers are those of a
// real job (plan.h, worker.h, server.h); the clock, the network and the arithmetic are models. Deterministic.
//
// The model. Each machine has a worker, which computes; beside it, on all or on those that the plan says, is a server. A worker and each server have a connection
// each way. What leaves a machine, and what reaches it, passes at the rate of its link, both ways at once; a switch between them has room for all of them.
// Each message spends `latency` on its way, carries `overhead` bytes, and is cut into packets of `mtu` bytes with their headers. Servers and workers take the
// bytes of arrays out of messages, and add them up, at the rate `processing`. A machine's messages to itself cross no link. What is compressed crosses
// links as it is packed; it is unpacked before it is added, at the rate of what it becomes.
//
// Held against jobs between network namespaces (bench/simulated_steps.py), these decided; milliseconds of LeNet's step, 50 Mbit but where it says otherwise:
// - Connections share a link in small segments (simulated_links.h). With messages one behind the other 499 were simulated for four workers, in turns of 64 KB 468,
//   of 4 KB 445; 442 to 459 were measured. A `received` that waits behind another connection's array holds up the pushes of its worker.
// - `burst`: a token bucket, as shapes links there, lets an idle link catch up. Two workers, 100 Mbit, 0.1 s of computation: 187 without it, 166 with, 168 to 175
//   measured.
// - Headers of packets: 5 % of the bytes.
// Not modelled: losses and how TCP comes back from them. With 2 MB of credit for each server four workers took 604 to 692 where nothing is lost in a simulation
// of 480; with worker.h's credit nothing is lost there. Nor what a congestion control does that holds data back: with bbr two workers took 1.24 times as long.
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
  int64_t burst = 0;          // bytes that a link that was idle carries at once: a token bucket's, which a real link has not
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
