// mxc simulate: how long training steps of a compiled program would take as a job of many machines, without the machines (runtime/kv/simulator.h).
//
// The program's Plan says what is computed and exchanged, and in which order; how long a machine computes must be told. A step of the Plan takes its
// part of that by its arithmetic and the bytes of its arguments, kFlopsPerByte operations for a byte.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "driver/diagnostics.h"
#include "runtime/core/plan_view.h"
#include "runtime/kv/simulator.h"

namespace mxc::driver {

// About what processors do while memory brings a byte.
inline constexpr double kFlopsPerByte = 16;

struct SimulateOptions {
  std::string program;                     // its path
  std::vector<int> workers = {1, 2, 4, 8};  // a row of the table each
  int shards = 1;                          // of each worker
  int servers = 0;                         // of each row at most so many machines; 0: all
  std::string compute;                     // of a shard: "180ms"
  std::string bandwidth = "10Gbit", latency = "50us", processing = "2GB";
  std::string kvstore = "dist_sync";
  std::string compress;  // empty: nothing is compressed
  int64_t mtu = kv::SimulatedNetwork().mtu;
  int steps = 8;
  bool json = false;
};

// What a program exchanges and computes in a training step of one shard that takes `seconds`. Keys say what of them is compressed, if anything is.
struct SimulatedProgram {
  std::vector<kv::Key> keys;
  std::vector<kv::ComputeStep> compute;
  int64_t batch = 0;  // samples of a shard
};
// Error (unimplemented): the program cannot be trained by several processes; it says why.
absl::StatusOr<SimulatedProgram> simulatedProgram(const core::PlanView& view, double seconds, const kv::Consistency& consistency);

// "320ms", "50us", "1.5s" in seconds; "10Gbit", "200Mbit" (a second) and "2GB", "500MB" in bytes a second. Error: it is none of these.
absl::StatusOr<double> parseDuration(const std::string& text);
absl::StatusOr<double> parseRate(const std::string& text);

// Prints the table to standard output. What is wrong with the program or a number is an error of `printer`.
void simulate(const SimulateOptions& options, DiagnosticPrinter& printer);

}  // namespace mxc::driver
