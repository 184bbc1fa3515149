// See batch_loader.h.
#include "runtime/io/batch_loader.h"

#include <algorithm>

#include "runtime/core/plan_view.h"

namespace mxc::io {

BatchLoader::BatchLoader(const Dataset& dataset, int64_t batch) : dataset_(dataset), batch_(batch) {
  for (Slot& slot : slots_) {
    for (const Field& field : dataset.fields()) {
      const uint64_t bytes = static_cast<uint64_t>(batch * field.elements() * core::dtype_bytes(field.dtype));
      slot.memory.push_back(std::make_unique<char[]>(bytes + plan::kAlign));
      const uintptr_t address = reinterpret_cast<uintptr_t>(slot.memory.back().get());
      slot.batch.fields.push_back(reinterpret_cast<void*>((address + plan::kAlign - 1) / plan::kAlign * plan::kAlign));
    }
  }
  thread_ = std::thread([this] { run(); });
}

BatchLoader::~BatchLoader() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BatchLoader::start(std::vector<int64_t> order, int64_t first) {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    position_ = static_cast<int64_t>(order_.size());  // nothing more to fill of the old order
    changed_.wait(lock, [this] { return !filling_; });
    order_ = std::move(order);
    position_ = first;
    fill_slot_ = 0;
    for (Slot& slot : slots_) slot.filled = false;
    taken_ = -1;
    next_slot_ = 0;
    remaining_ = std::max<int64_t>(0, static_cast<int64_t>(order_.size()) - first);
  }
  changed_.notify_all();
}

absl::StatusOr<const Batch*> BatchLoader::next() {
  std::unique_lock<std::mutex> lock(mutex_);
  if (taken_ >= 0) {
    slots_[taken_].filled = false;
    taken_ = -1;
    changed_.notify_all();
  }
  if (remaining_ == 0) return nullptr;
  Slot& slot = slots_[next_slot_];
  changed_.wait(lock, [&] { return slot.filled; });
  if (!slot.status.ok()) return slot.status;
  taken_ = next_slot_;
  next_slot_ = 1 - next_slot_;
  remaining_ -= slot.batch.n;
  return &slot.batch;
}

void BatchLoader::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] {
      return stop_ || (position_ < static_cast<int64_t>(order_.size()) && !slots_[fill_slot_].filled);
    });
    if (stop_) return;
    Slot& slot = slots_[fill_slot_];
    const int64_t first = position_;
    const int64_t n = std::min<int64_t>(batch_, static_cast<int64_t>(order_.size()) - first);
    filling_ = true;
    lock.unlock();
    fill(&slot, first, n);
    lock.lock();
    filling_ = false;
    slot.filled = true;
    position_ = std::max(position_, first + n);  // start() may have ended the order meanwhile
    fill_slot_ = 1 - fill_slot_;
    changed_.notify_all();
  }
}

void BatchLoader::fill(Slot* slot, int64_t first, int64_t n) {
  slot->batch.n = n;
  slot->status = absl::OkStatus();
  for (size_t f = 0; f < slot->batch.fields.size(); ++f) {
    const absl::Status status = dataset_.read(static_cast<int>(f), order_.data() + first, n, slot->batch.fields[f]);
    if (!status.ok()) slot->status = status;
  }
}

}  // namespace mxc::io
