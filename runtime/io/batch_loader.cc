// See batch_loader.h.
#include "runtime/io/batch_loader.h"

#include <algorithm>
#include <utility>

#include "runtime/core/plan_view.h"

namespace mxc::io {

BatchLoader::BatchLoader(const Dataset& dataset, int64_t batch, engine::Engine* engine)
    : dataset_(dataset), batch_(batch), engine_(engine) {
  for (Slot& slot : slots_) {
    uint64_t all = 0;
    for (const Field& field : dataset.fields()) {
      const uint64_t bytes = static_cast<uint64_t>(batch * field.elements() * core::dtype_bytes(field.dtype));
      all += bytes;
      slot.memory.push_back(std::make_unique<char[]>(bytes + plan::kAlign));
      const uintptr_t address = reinterpret_cast<uintptr_t>(slot.memory.back().get());
      slot.batch.fields.push_back(reinterpret_cast<void*>((address + plan::kAlign - 1) / plan::kAlign * plan::kAlign));
    }
    slot.variable = engine->variable("batch", all);
  }
}

BatchLoader::~BatchLoader() { wait_until_idle(); }

void BatchLoader::wait_until_idle() {
  // Errors are of no interest here: nobody asks for these batches any more.
  for (Slot& slot : slots_) engine_->wait_idle(slot.variable).IgnoreError();
}

void BatchLoader::start(std::vector<int64_t> order, int64_t first, std::optional<Variation> variation) {
  wait_until_idle();
  for (Slot& slot : slots_) engine_->recover(slot.variable);
  order_ = std::move(order);
  variation_ = variation;
  position_ = first;
  remaining_ = std::max<int64_t>(0, static_cast<int64_t>(order_.size()) - first);
  current_ = 1;
  fill_next(&slots_[0]);
}

void BatchLoader::fill_next(Slot* slot) {
  const int64_t first = position_;
  const int64_t n = std::min<int64_t>(batch_, static_cast<int64_t>(order_.size()) - first);
  if (n <= 0) return;
  position_ += n;
  slot->batch.n = n;
  engine_->push({.name = "load batch", .lane = engine::Lane::io}, {}, {slot->variable}, [this, slot, first, n] {
    for (size_t f = 0; f < slot->batch.fields.size(); ++f) {
      const int field = static_cast<int>(f);
      const int64_t* rows = order_.data() + first;
      void* out = slot->batch.fields[f];
      absl::Status status =
          variation_.has_value() ? dataset_.read_varied(field, rows, n, *variation_, out) : dataset_.read(field, rows, n, out);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<const Batch*> BatchLoader::next() {
  if (remaining_ == 0) return nullptr;
  Slot& slot = slots_[1 - current_];
  if (absl::Status status = engine_->wait(slot.variable); !status.ok()) return status;
  fill_next(&slots_[current_]);  // the one that the caller has just done with
  current_ = 1 - current_;
  remaining_ -= slot.batch.n;
  return &slot.batch;
}

}  // namespace mxc::io
