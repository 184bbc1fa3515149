// See memory_report.h. Lifetimes are read from the Plan's steps, not taken from the planner.
#include "driver/memory_report.h"

#include <algorithm>
#include <map>
#include <set>

#include "runtime/core/storage.h"

namespace mxc::driver {

namespace {

uint64_t paddingOf(const plan::Buffer& buffer) {
  return buffer.bytes - static_cast<uint64_t>(core::elements(buffer) * core::dtype_bytes(buffer.dtype));
}

// Bytes of a set of ranges that may cover each other.
uint64_t covered(std::vector<std::pair<uint64_t, uint64_t>> ranges) {
  std::sort(ranges.begin(), ranges.end());
  uint64_t sum = 0, reached = 0;
  for (auto [begin, end] : ranges) {
    if (end > reached) sum += end - std::max(begin, reached);
    reached = std::max(reached, end);
  }
  return sum;
}

// The lifetimes of one graph's tensors.
class Lifetimes {
 public:
  Lifetimes(const core::PlanView& plan, const plan::Graph& graph, GraphMemory& memory) : plan_(plan), memory_(memory) {
    walk(plan.block(graph.block));
    std::vector<std::pair<size_t, uint32_t>> order;
    for (auto& [buffer, life] : lives_) order.push_back({life.first, buffer});
    std::sort(order.begin(), order.end());
    for (auto [first, id] : order) {
      const plan::Buffer& buffer = plan.buffer(id);
      memory.tensors.push_back({plan.text(buffer.name), plan.text(buffer.location), buffer.role, buffer.offset, buffer.bytes,
                                paddingOf(buffer), first, lives_[id].second});
    }
    findPeak();
  }

 private:
  // What a loop touches is alive while it runs.
  void walk(const plan::Block& block) {
    const size_t begin = memory_.steps.size();
    std::vector<uint32_t> touched;
    for (const plan::Item& item : plan_.items(block)) {
      if (item.kind == plan::ItemKind::block) {
        walk(plan_.block(item.index));
        continue;
      }
      const plan::Step& step = plan_.step(item.index);
      for (bool writes : {false, true})
        for (const plan::Arg& arg : plan_.args(step))
          if (plan_.buffer(arg.buffer).space == plan::Space::arena && (arg.access != plan::Access::read) == writes)
            touched.push_back(touch(holder(arg.buffer, writes), memory_.steps.size()));
      memory_.steps.push_back(plan_.text(step.name));
    }
    if (block.kind != plan::BlockKind::loop || memory_.steps.size() == begin) return;
    for (uint32_t buffer : touched) touch(buffer, begin), touch(buffer, memory_.steps.size() - 1);
  }

  // The tensor whose memory a buffer is: itself if a step writes it; else it is a view of what was written there last.
  uint32_t holder(uint32_t buffer, bool writes) {
    auto [last, isNew] = written_.try_emplace(plan_.buffer(buffer).offset, buffer);
    if (writes) last->second = buffer;
    return last->second;
  }

  uint32_t touch(uint32_t buffer, size_t step) {
    auto [life, isNew] = lives_.try_emplace(buffer, step, step);
    life->second.first = std::min(life->second.first, step);
    life->second.second = std::max(life->second.second, step);
    return buffer;
  }

  void findPeak() {
    memory_.peak_bytes = memory_.peak_step = 0;
    for (size_t step = 0; step < memory_.steps.size(); ++step) {
      std::vector<std::pair<uint64_t, uint64_t>> ranges;
      for (const ArenaTensor& tensor : memory_.tensors)
        if (tensor.first <= step && step <= tensor.last) ranges.push_back({tensor.offset, tensor.offset + tensor.bytes});
      uint64_t bytes = covered(std::move(ranges));
      if (bytes > memory_.peak_bytes) memory_.peak_bytes = bytes, memory_.peak_step = step;
    }
  }

  const core::PlanView& plan_;
  GraphMemory& memory_;
  std::map<uint32_t, std::pair<size_t, size_t>> lives_;
  std::map<uint64_t, uint32_t> written_;  // by offset
};

// Inputs and outputs of graphs that run where shards train together, and of no others: what those take is not of the memory of a program that
// trains alone.
std::set<uint32_t> boundByShards(const core::PlanView& plan) {
  std::set<uint32_t> shards, others;
  for (const plan::Graph& graph : plan.graphs()) {
    std::set<uint32_t>& bound = plan.is_of_shards(graph) ? shards : others;
    for (const plan::Binding& binding : plan.inputs(graph)) bound.insert(binding.buffer);
    for (const plan::Binding& binding : plan.outputs(graph)) bound.insert(binding.buffer);
  }
  std::erase_if(shards, [&](uint32_t buffer) { return others.contains(buffer) || plan.buffer(buffer).space != plan::Space::io; });
  return shards;
}

// What lives as long as the program, but for buffers of `apart`.
std::vector<MemorySum> sumsOf(const core::PlanView& plan, const std::set<uint32_t>& apart) {
  std::vector<MemorySum> sums = {{"parameters"}, {"optimizer state"}, {"layer state"}, {"hyper-parameters"}, {"inputs"}, {"outputs"}};
  std::set<uint32_t> slots;
  for (const plan::Binding& slot : plan.optimizer_slots()) slots.insert(slot.buffer);
  std::set<std::pair<plan::Space, uint64_t>> seen;  // views lie where what they look at lies
  uint32_t id = 0;
  for (const plan::Buffer& buffer : plan.buffers()) {
    const uint32_t own = id++;
    if (buffer.space == plan::Space::arena || apart.contains(own) || !seen.insert({buffer.space, buffer.offset}).second) continue;
    size_t kind = 5;
    if (buffer.role == plan::Role::parameter) kind = 0;
    if (buffer.role == plan::Role::state) kind = slots.count(own) ? 1 : 2;
    if (buffer.role == plan::Role::hyper) kind = 3;
    if (buffer.role == plan::Role::input) kind = 4;
    sums[kind].bytes += buffer.bytes;
    sums[kind].padding += paddingOf(buffer);
  }
  return sums;
}

}  // namespace

MemoryReport memoryReport(const core::PlanView& plan) {
  MemoryReport report;
  const char* model = plan.find_fact("model");
  report.model = model ? model : "";
  const std::set<uint32_t> apart = boundByShards(plan);
  report.sums = sumsOf(plan, apart);
  report.arena_bytes = 0;
  for (const plan::Graph& graph : plan.graphs()) {
    if (plan.is_of_shards(graph)) continue;
    report.arena_bytes = std::max(report.arena_bytes, graph.arena_bytes);
    report.graphs.push_back({plan.text(graph.name), graph.batch, graph.arena_bytes, 0, 0, {}, {}});
    Lifetimes(plan, graph, report.graphs.back());
  }
  const core::AreaBytes bytes = core::area_bytes(plan, 0, core::Graphs::alone);
  report.total_bytes = bytes.arena + bytes.persistent + bytes.io;
  return report;
}

}  // namespace mxc::driver
