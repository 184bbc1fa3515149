// Agenda: what is to happen at which time of a virtual clock. What is foreseen for one time happens in the order in which it was foreseen.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace mxc::kv {

class Agenda {
 public:
  double now() const { return now_; }  // seconds

  // Requires: time >= now().
  void at(double time, std::function<void()> event) {
    if (free_.empty()) free_.push_back(static_cast<uint32_t>(events_.size())), events_.emplace_back();
    const uint32_t slot = free_.back();
    free_.pop_back();
    events_[slot] = std::move(event);
    heap_.push_back({time, next_order_++, slot});
    std::ranges::push_heap(heap_, std::ranges::greater());
  }

  // Lets the next happen. False: there is none.
  bool next() {
    if (heap_.empty()) return false;
    std::ranges::pop_heap(heap_, std::ranges::greater());
    const Foreseen foreseen = heap_.back();
    heap_.pop_back();
    now_ = foreseen.time;
    free_.push_back(foreseen.slot);
    std::exchange(events_[foreseen.slot], nullptr)();
    return true;
  }

 private:
  struct Foreseen {
    double time = 0;
    uint64_t order = 0;
    uint32_t slot = 0;  // in events_
    auto operator<=>(const Foreseen&) const = default;
  };

  double now_ = 0;
  uint64_t next_order_ = 0;
  std::vector<Foreseen> heap_;  // the next first
  std::vector<std::function<void()>> events_;
  std::vector<uint32_t> free_;
};

}  // namespace mxc::kv
