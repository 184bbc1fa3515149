// See live_items.h. Walking back, `live` are the bytes that later items still want. The first writer of a buffer makes all of its
// value: before it, its bytes are free (the arena uses them for something else). Later writers of it, and loops, free nothing.
#include "runtime/executor/live_items.h"

#include <algorithm>
#include <limits>

namespace mxc::executor {
namespace {

struct Range {
  plan::Space space;
  uint16_t device;
  uint64_t begin, end;

  bool overlaps(const Range& other) const {
    return space == other.space && device == other.device && begin < other.end && other.begin < end;
  }
};

Range range_of(const plan::Buffer& buffer) { return {buffer.space, buffer.device, buffer.offset, buffer.offset + buffer.bytes}; }

// What an item does to memory.
struct Effects {
  std::vector<Range> reads, writes;
  std::vector<uint32_t> written;  // buffers written outside of loops
};

class EffectsReader {
 public:
  explicit EffectsReader(const core::PlanView& view) : view_(view) {}

  Effects of(const plan::Item& item) {
    effects_ = {};
    walk(item, false);
    return std::move(effects_);
  }

 private:
  void walk(const plan::Item& item, bool in_loop) {
    if (item.kind == plan::ItemKind::step) {
      for (const plan::Arg& arg : view_.args(view_.step(item.index))) add(arg, in_loop);
      return;
    }
    const plan::Block& block = view_.block(item.index);
    const bool loop = in_loop || block.kind == plan::BlockKind::loop;
    if (block.trip_buffer != plan::kNone) effects_.reads.push_back(range_of(view_.buffer(block.trip_buffer)));
    for (const plan::Item& inner : view_.items(block)) walk(inner, loop);
    for (const plan::Carried& pair : view_.carried(block)) {
      effects_.reads.push_back(range_of(view_.buffer(pair.from)));
      effects_.writes.push_back(range_of(view_.buffer(pair.to)));
    }
  }

  void add(const plan::Arg& arg, bool in_loop) {
    const plan::Buffer& buffer = view_.buffer(arg.buffer);
    Range range = range_of(buffer);
    if (arg.stride != 0) range.begin = 0, range.end = std::numeric_limits<uint64_t>::max();  // anywhere in its space
    if (arg.access != plan::Access::write) effects_.reads.push_back(range);
    if (arg.access != plan::Access::read) effects_.writes.push_back(range);
    if (arg.access == plan::Access::write && !in_loop) effects_.written.push_back(arg.buffer);
  }

  const core::PlanView& view_;
  Effects effects_;
};

void subtract(const Range& gone, std::vector<Range>* live) {
  std::vector<Range> rest;
  for (const Range& range : *live) {
    if (!range.overlaps(gone)) {
      rest.push_back(range);
      continue;
    }
    if (range.begin < gone.begin) rest.push_back({range.space, range.device, range.begin, gone.begin});
    if (gone.end < range.end) rest.push_back({range.space, range.device, gone.end, range.end});
  }
  *live = std::move(rest);
}

bool is_needed(const Effects& effects, const std::vector<Range>& live) {
  return std::any_of(effects.writes.begin(), effects.writes.end(), [&](const Range& write) {
    return write.space == plan::Space::persistent ||
           std::any_of(live.begin(), live.end(), [&](const Range& range) { return range.overlaps(write); });
  });
}

}  // namespace

std::vector<uint8_t> live_items(const core::PlanView& view, uint32_t graph, uint32_t first, uint32_t end,
                                const std::vector<uint32_t>& wanted) {
  const std::span<const plan::Item> items = view.items(view.block(view.graph(graph).block));
  end = std::min(end, static_cast<uint32_t>(items.size()));
  std::vector<uint8_t> keep(items.size(), 0);
  if (first >= end) return keep;
  std::vector<Effects> effects;
  std::vector<uint32_t> first_writer(view.buffers().size(), plan::kNone);
  EffectsReader reader(view);
  for (uint32_t i = 0; i < end; ++i) {
    effects.push_back(reader.of(items[i]));
    for (uint32_t buffer : effects[i].written) first_writer[buffer] = std::min(first_writer[buffer], i);
  }
  std::vector<Range> live;
  for (uint32_t buffer : wanted) live.push_back(range_of(view.buffer(buffer)));
  for (uint32_t i = end; i-- > first;) {
    if (!is_needed(effects[i], live)) continue;
    keep[i] = 1;
    for (uint32_t buffer : effects[i].written) {
      if (first_writer[buffer] == i) subtract(range_of(view.buffer(buffer)), &live);
    }
    live.insert(live.end(), effects[i].reads.begin(), effects[i].reads.end());
  }
  return keep;
}

}  // namespace mxc::executor
