// bench/simulated_load.cc: what the simulator says of a job of kvstore_load.cpp, for simulated_steps.py.
// Usage: simulated_load KEYS WORKERS SECONDS BYTES-A-SECOND
//
// KEYS and SECONDS are those of kvstore_load. Shows the seconds of a step, and those in which a link is busy in it.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "runtime/kv/simulator.h"

using namespace mxc::kv;

int main(int argc, char** argv) {
  if (argc != 5) return std::fprintf(stderr, "usage: %s KEYS WORKERS SECONDS BYTES-A-SECOND\n", argv[0]), 2;
  const double seconds = std::atof(argv[3]);
  std::vector<Key> keys;
  std::vector<ComputeStep> backward;
  SimulatedJob job;
  job.rules.workers = job.rules.servers = job.rules.shards = std::atoi(argv[2]);
  job.network.bandwidth = std::atof(argv[4]);
  job.network.latency = 100e-6;
  job.network.burst = 256 << 10;  // as tests/namespaces.py shapes links
  std::ifstream lines(argv[1]);
  int64_t elements;
  for (double forward_share, backward_share; lines >> elements >> forward_share >> backward_share;) {
    const auto key = static_cast<uint32_t>(keys.size());
    keys.push_back({"key" + std::to_string(key), {elements}});
    job.compute.push_back({forward_share * seconds / 3, {key}, {}});
    backward.push_back({backward_share * seconds * 2 / 3, {}, {key}});
  }
  job.compute.insert(job.compute.end(), backward.rbegin(), backward.rend());
  const auto step = simulate(keys, job);
  if (!step.ok()) return std::fprintf(stderr, "%s\n", std::string(step.status().message()).c_str()), 1;
  std::printf("%.6f %.6f\n", step->seconds, step->communication);
}
