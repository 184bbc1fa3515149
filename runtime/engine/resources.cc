// See resources.h.
#include "runtime/engine/resources.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "runtime/core/plan.h"

namespace mxc::engine {

core::PhiloxKey Random::next_key(uint32_t stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  return core::philox_key(seed_, step_++, /*shard=*/0, stream);
}

void Random::set_seed(uint64_t seed) {
  std::lock_guard<std::mutex> lock(mutex_);
  seed_ = seed;
  step_ = 0;
}

Scratch::~Scratch() {
  engine_.wait_idle(variable_).IgnoreError();
  std::free(memory_);
}

absl::StatusOr<void*> Scratch::get(size_t bytes) {
  if (memory_ != nullptr && bytes <= bytes_) return memory_;
  const size_t whole = (bytes + plan::kAlign) / plan::kAlign * plan::kAlign;  // at least one unit
  void* grown = whole < bytes ? nullptr : std::aligned_alloc(plan::kAlign, whole);
  if (grown == nullptr) return absl::ResourceExhaustedError(absl::StrCat("no memory for ", bytes, " bytes of scratch"));
  std::free(memory_);
  memory_ = grown;
  bytes_ = whole;
  return memory_;
}

}  // namespace mxc::engine
