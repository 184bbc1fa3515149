// What a program keeps in memory, exactly, as its Plan says: by role, by graph, and alive at each graph's peak. What only the training by several shards
// takes (docs/kvstore.md) is not in it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/core/plan_view.h"

namespace mxc::driver {

// Bytes as they lie in memory, and those of them that are padding of blocked layouts.
struct MemorySum {
  std::string role;  // "parameters", "optimizer state", "layer state", "hyper-parameters", "inputs", "outputs"
  uint64_t bytes = 0, padding = 0;
};

// A tensor in the arena. Alive from step `first`, which writes it, to step `last`, both counted from 0 in the order of the graph.
struct ArenaTensor {
  std::string name, location;  // location: "lenet.cpp:11:40", may be empty
  plan::Role role;
  uint64_t offset, bytes, padding;
  size_t first, last;
};

struct GraphMemory {
  std::string name;
  int64_t batch;         // samples that it is planned for; 0: no batch axis
  uint64_t arena_bytes;  // reserved
  uint64_t peak_bytes;   // the most that is alive at once; tensors in one place count once
  size_t peak_step;
  std::vector<std::string> steps;    // names, in order
  std::vector<ArenaTensor> tensors;  // in order of their first step
};

struct MemoryReport {
  std::string model;
  std::vector<MemorySum> sums;
  uint64_t arena_bytes;  // all graphs share it: the largest
  uint64_t total_bytes;
  std::vector<GraphMemory> graphs;
};

// Of the first device. Requires: `plan` is checked.
MemoryReport memoryReport(const core::PlanView& plan);

// For people; as JSON; as a picture of each graph: steps to the right, addresses upwards, a box for each tensor.
std::string memoryText(const MemoryReport& report);
std::string memoryJson(const MemoryReport& report);
std::string memorySvg(const MemoryReport& report);

}  // namespace mxc::driver
